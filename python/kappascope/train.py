# SPDX-License-Identifier: Apache-2.0
"""`kappascope train` in one process or, under torchrun, in several that share each batch.

    torchrun --nproc-per-node 2 -m kappascope.train --config FILE [--out RUN] [settings]

Takes the words of `kappascope train`. Loss and weights are those of one process but for rounding;
process 0 writes the run. Continued with --resume, the number of processes may be another.
"""

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist

from ._library import Error, call
from ._processes import name_of


def _load() -> None:
    path = os.environ.get("KAPPASCOPE_TRAINER", "")
    path = path or str(Path(__file__).with_name("libkappascope_train_python.so"))
    if not Path(path).exists():
        raise Error(
            f"this installation has no trainer ({path} is missing): build the project with "
            "./quickstart and set KAPPASCOPE_TRAINER to build/release/lib/libkappascope_train_python.so"
        )
    torch.ops.load_library(path)  # type: ignore[no-untyped-call]


def main(arguments: list[str]) -> int:
    """The exit status of `kappascope train`."""
    try:
        _load()
    except (Error, OSError) as error:
        print(f"kappascope: error: {error}", file=sys.stderr)
        return 1
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return int(call("train", arguments, ""))
    dist.init_process_group("gloo")
    try:
        return int(call("train", arguments, name_of(dist.group.WORLD)))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
