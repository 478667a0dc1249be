#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training in two processes beside one: steps a second, as ratios.

    PYTHONPATH=python KAPPASCOPE_LIBRARY=build/release/lib/libkappascope_python.so \\
    KAPPASCOPE_TRAINER=build/release/lib/libkappascope_train_python.so \\
    .venv/bin/python benchmarks/scale/processes.py [--rounds 5] [--steps 60]

The benchmarks' language model (4 layers, d 256, d_ff 768, 128 tokens x 8, Adam) on made-up text, without probes. In
every round each way trains a short run and a longer one; their difference is free of the start. The table has the median
of the rounds and the lowest and highest.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHORT = 5
# name: processes, threads of each
WAYS = {"one, 1 thread": (1, 1), "one, 2 threads": (1, 2), "two, 1 thread each": (2, 1)}
RATIOS = (("two, 1 thread each", "one, 2 threads", 0.9), ("two, 1 thread each", "one, 1 thread", 1.7))


def seconds(folder: Path, processes: int, threads: int, steps: int) -> float:
    """From start to end of a training."""
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    words = [
        *[sys.executable, *(launcher if processes > 1 else []), "-m", "kappascope.train"],
        *["--data", str(folder / "text.txt"), "--out", tempfile.mkdtemp(dir=folder)],
        *["--model.kind=language", "--model.layout=llama", "--model.width=256", "--model.hidden=768"],
        *["--model.blocks=4", "--model.heads=4", "--data.context=128", "--train.batch=8"],
        *[f"--train.steps={steps}", f"--train.threads={threads}", f"--train.eval-every={10 * steps}"],
        *["--train.eval-rows=8", "--probes.features=false", "--probes.gradient-variance=false"],
        *["--probes.hessian=false"],
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "TORCH_CPP_LOG_LEVEL": "ERROR"}
    begin = time.perf_counter()
    subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--steps", type=int, default=60)
    chosen = options.parse_args()
    paces: dict[str, list[float]] = {name: [] for name in WAYS}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "text.txt").write_text("".join(chr(97 + i * i % 23) for i in range(200_000)))
        for _ in range(chosen.rounds):
            for name, (processes, threads) in WAYS.items():
                short = seconds(folder, processes, threads, SHORT)
                longer = seconds(folder, processes, threads, SHORT + chosen.steps)
                paces[name].append(chosen.steps / (longer - short))
    for name, found in paces.items():
        print(f"{name:<20} {statistics.median(found):8.2f} steps/s")
    print(f"{'ratio':>8} {'lowest':>8} {'highest':>8} {'limit':>8}  what")
    for ours, base, limit in RATIOS:
        ratios = [a / b for a, b in zip(paces[ours], paces[base], strict=True)]
        middle = statistics.median(ratios)
        mark = "" if middle >= limit else "   UNDER"
        print(f"{middle:8.3f} {min(ratios):8.3f} {max(ratios):8.3f} {limit:8.2f}  {ours} / {base}{mark}")


if __name__ == "__main__":
    main()
