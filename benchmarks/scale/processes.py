#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training in two processes beside one: steps a second, as ratios.

    PYTHONPATH=python KAPPASCOPE_LIBRARY=build/release/lib/libkappascope_python.so \\
    KAPPASCOPE_TRAINER=build/release/lib/libkappascope_train_python.so \\
    .venv/bin/python benchmarks/scale/processes.py [--rounds 5] [--steps 60]

The benchmarks' language model (4 layers, d 256, d_ff 768, 128 tokens x 8, Adam) on made-up text, without probes. In
every round each way trains a short run and a longer one; their difference is free of the start. What else a machine does
can only make a run slower, so the result is that of each way's fastest short and fastest long run; the rounds' own ratios
tell how far they spread. "two apart" are two trainings at once that know nothing of each other, each of half a batch: what
two processes could reach if nothing were exchanged.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHORT = 5
# name: trainings at once, processes of each, threads of each process, rows of a batch of each training
WAYS = {
    "one, 1 thread": (1, 1, 1, 8),
    "one, 2 threads": (1, 1, 2, 8),
    "two, 1 thread each": (1, 2, 1, 8),
    "two apart": (2, 1, 1, 4),
}
RATIOS = (
    ("two, 1 thread each", "one, 2 threads", 0.9),
    ("two, 1 thread each", "one, 1 thread", 1.7),
    ("two apart", "one, 1 thread", None),
    ("two, 1 thread each", "two apart", None),
)


def start(folder: Path, processes: int, threads: int, batch: int, steps: int) -> "subprocess.Popen[bytes]":
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    words = [
        *[sys.executable, *(launcher if processes > 1 else []), "-m", "kappascope.train"],
        *["--data", str(folder / "text.txt"), "--out", tempfile.mkdtemp(dir=folder)],
        *["--model.kind=language", "--model.layout=llama", "--model.width=256", "--model.hidden=768"],
        *["--model.blocks=4", "--model.heads=4", "--data.context=128", f"--train.batch={batch}"],
        *[f"--train.steps={steps}", f"--train.threads={threads}", f"--train.eval-every={10 * steps}"],
        *[f"--train.checkpoint-every={10 * steps}"],
        *["--train.eval-rows=8", "--probes.features=false", "--probes.gradient-variance=false"],
        *["--probes.hessian=false"],
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "TORCH_CPP_LOG_LEVEL": "ERROR"}
    return subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def seconds(folder: Path, trainings: int, processes: int, threads: int, batch: int, steps: int) -> float:
    """From the start to the end of the last."""
    begin = time.perf_counter()
    for one in [start(folder, processes, threads, batch, steps) for _ in range(trainings)]:
        if one.wait() != 0:
            sys.exit(f"processes: error: a training in {processes} processes has failed")
    return time.perf_counter() - begin


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--steps", type=int, default=60)
    chosen = options.parse_args()
    shorts: dict[str, list[float]] = {name: [] for name in WAYS}
    longs: dict[str, list[float]] = {name: [] for name in WAYS}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "text.txt").write_text("".join(chr(97 + i * i % 23) for i in range(200_000)))
        for turn in range(chosen.rounds):
            for name, way in WAYS.items():
                shorts[name].append(seconds(folder, *way, SHORT))
                longs[name].append(seconds(folder, *way, SHORT + chosen.steps))
            print(f"round {turn + 1} of {chosen.rounds}", file=sys.stderr)
    fastest = {name: min(longs[name]) - min(shorts[name]) for name in WAYS}
    for name, took in fastest.items():
        print(f"{name:<20} {chosen.steps / took:8.2f} steps/s")
    print(f"{'ratio':>8} {'lowest':>8} {'highest':>8} {'limit':>8}  what")
    for ours, base, limit in RATIOS:
        ratio = fastest[base] / fastest[ours]
        each = [
            (longs[base][turn] - shorts[base][turn]) / (longs[ours][turn] - shorts[ours][turn])
            for turn in range(chosen.rounds)
        ]
        mark = "" if limit is None or ratio >= limit else "   UNDER"
        shown = "-" if limit is None else f"{limit:.2f}"
        print(f"{ratio:8.3f} {min(each):8.3f} {max(each):8.3f} {shown:>8}  {ours} / {base}{mark}")


if __name__ == "__main__":
    main()
