# SPDX-License-Identifier: Apache-2.0
"""`kappascope train` in one process or, under torchrun, in several that share each batch.

    torchrun --nproc-per-node 2 -m kappascope.train --config FILE [--out RUN] [settings]

Takes the words of `kappascope train`. Loss and weights are those of one process but for rounding;
process 0 writes the run. Continued with --resume, the number of processes may be another.
"""

import os
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

from ._library import Error, call, library
from ._processes import name_of


def _load() -> None:
    path = library("libkappascope_train_python", "KAPPASCOPE_TRAINER")
    if not path.exists():
        raise Error(
            f"this installation has no trainer ({path} is missing): install the package again with "
            "KAPPASCOPE_WITH_TRAINER=1 in the environment, or with ./quickstart, which builds it too"
        )
    torch.ops.load_library(str(path))  # type: ignore[no-untyped-call]


def main(arguments: list[str]) -> int:
    """The exit status of `kappascope train`."""
    try:
        _load()
    except (Error, OSError) as error:
        print(f"kappascope: error: {error}", file=sys.stderr)
        return 1
    if int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return int(call("train", arguments, ""))
    with_devices = torch.cuda.is_available()
    if with_devices:  # "cuda" and "auto" are then this process's own device
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    # Processes wait while another evaluates or writes a checkpoint, which takes what it takes; one that is
    # lost closes its connections.
    backend = "cpu:gloo,cuda:nccl" if with_devices else "gloo"
    dist.init_process_group(backend, timeout=timedelta(days=1))
    try:
        return int(call("train", arguments, name_of(dist.group.WORLD)))
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
