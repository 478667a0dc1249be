# SPDX-License-Identifier: Apache-2.0
"""The numbers of kappascope beside those of programs and closed forms that nobody here wrote, on bundled data sets.

    ./quickstart validate        # writes docs/VALIDATION.md, which the site shows

The exit status is 1 where a row does not hold.
"""

import sys
from importlib import metadata
from pathlib import Path

import curvature
import features
import kappascope
import torch


def main() -> int:
    torch.set_num_threads(1)
    lines = ["| number | compared with | largest relative difference | wanted | holds |", "|---|---|---|---|---|"]
    held = True
    for check in (*features.CHECKS, *curvature.CHECKS):
        line, holds = check()
        held = held and holds
        print(line, flush=True)
        lines.append(line)
    packages = ("scikit-learn", "statsmodels", "primme", "nngeometry", "imate", "gns-pytorch", "matfree", "mup", "torch")
    versions = [f"{name} {metadata.version(name)}" for name in packages]
    lines += ["", f"{', '.join(versions)}, kappascope {kappascope.__version__}; printed by `./quickstart validate`."]
    Path(sys.argv[1]).write_text("\n".join(lines) + "\n")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
