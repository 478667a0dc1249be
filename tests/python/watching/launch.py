# SPDX-License-Identifier: Apache-2.0
"""Scripts under torchrun."""

import os
import subprocess
import sys
from pathlib import Path


def torchrun(
    script: str, folder: Path, *how: str, processes: int = 2
) -> "subprocess.CompletedProcess[str]":
    """script FOLDER HOW... in some processes, of one thread each."""
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    return subprocess.run(
        [sys.executable, *launcher, script, str(folder), *how],
        env={**os.environ, "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"},
        capture_output=True,
        text=True,
        timeout=900,
    )
