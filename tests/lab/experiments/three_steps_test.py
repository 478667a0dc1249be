#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains an arm of a study at the documents' size for three steps of one row, and looks at what was stored.

    three_steps_test.py PROGRAM experiments/paper/NAME.ini [--arm NAME] [--keep FOLDER]

Width, depth, length of the rows and precision are the file's. Where 24 GiB do not hold the weights, their gradients and
Adam's state, the depth is cut; where the processor has no products in 16 bits, they are of float32, which is faster by
twenty there. Both are said. A window of the Hessian takes one eigenvalue to a tenth and no density, a dozen products
where the file's would take hundreds. Texts and images are made up.
"""

import argparse
import configparser
import math
import os
import random
import sqlite3
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

STEPS = 3
# Blocks that are kept of a model that 24 GiB do not hold.
CUT = {"pgb-gemma3": 12, "pgb-phi3": 4}
ROOM = 24 * 2**30


def multiplies_in_16_bits() -> bool:
    flags = Path("/proc/cpuinfo").read_text().split()
    return not {"avx512_bf16", "amx_bf16", "bf16"}.isdisjoint(flags)


def write_tokens(folder: Path, vocabulary: int, context: int, bits: int) -> None:
    draw = random.Random(1)
    for name in ("train", "val"):
        ids = [draw.randrange(vocabulary) for _ in range(8 * (context + 1))]
        (folder / f"{name}.bin").write_bytes(struct.pack(f"<{len(ids)}{'H' if bits == 16 else 'I'}", *ids))


def write_images(file: Path, size: int, count: int) -> None:
    """uint8 [count, size, size, 3] in NumPy's format, without NumPy."""
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({count}, {size}, {size}, 3), }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    pixels = random.Random(1).randbytes(count * size * size * 3)
    file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + pixels)


def train(words: list[str]) -> int:
    """Peak resident bytes."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"three_steps_test: error: {' '.join(words)}: status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_maxrss * 1024


def require(holds: bool, what: str) -> None:
    if not holds:
        sys.exit(f"three_steps_test: error: {what}")


def look_at(run: Path, layers: int | None) -> str:
    """A run of three steps with finite losses and a condition number of every layer; `layers`: how many there must be."""
    with sqlite3.connect(f"file:{run / 'run.sqlite'}?mode=ro", uri=True) as sql:
        losses = [one for (one,) in sql.execute("SELECT value FROM scalars WHERE name = 'loss/train' ORDER BY step")]
        kappas = dict(sql.execute("SELECT layer, status FROM scalars WHERE name = 'kappa/sigma'"))
        (state,) = sql.execute("SELECT value FROM facts WHERE key = 'state'").fetchone()
    require(state == "finished" and len(losses) == STEPS, f"the run is {state} after {len(losses)} steps")
    require(all(math.isfinite(loss) for loss in losses), f"losses of {losses}")
    enough = len(kappas) == layers if layers is not None else len(kappas) > 0
    require(enough, f"{len(kappas)} layers have a condition number, of {layers or 'some'}")
    return f"{losses[0]:.3f} to {losses[-1]:.3f}, kappa of {len(kappas)} layers ({', '.join(sorted(set(kappas.values())))})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("study", type=Path)
    parser.add_argument("--arm", help="default: the first")
    parser.add_argument("--keep", type=Path, help="a folder for the run")
    options = parser.parse_args()
    study = configparser.ConfigParser(delimiters=("=",), interpolation=None)
    study.optionxform = str
    study.read_string(options.study.read_text())
    arms = dict(study["arms"])
    arm = options.arm or next(iter(arms))
    settings = {f"{part}.{name}": value for part in ("data", "model", "train", "probes") for name, value in study[part].items()}
    for name, values in (study["grid"].items() if "grid" in study else ()):
        settings[name] = values.split()[0]
    settings.update(word.split("=", 1) for word in arms[arm].split())
    settings.pop("train.epochs", None)
    settings.update({"train.steps": STEPS, "train.batch": 1, "train.micro-batch": 1, "train.eval-every": STEPS})
    settings.update({"train.eval-rows": 1, "probes.every": 2, "probes.window": 1, "probes.hessian-rows": 1})
    settings.update({"probes.hessian-top": 1, "probes.hessian-tolerance": 0.1, "probes.density": "false"})
    if options.study.stem in CUT:
        settings["model.preset-blocks"] = CUT[options.study.stem]
        print(f"{options.study.stem}: cut to {CUT[options.study.stem]} blocks")
    if settings.get("train.precision", "float32") != "float32" and not multiplies_in_16_bits():
        settings["train.precision"] = "float32"
        print(f"{options.study.stem}: in float32, as this processor has no products in 16 bits")
    layers = None
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if settings.get("model.kind") == "language":
            bits = int(settings.get("data.token-bits", 16))
            write_tokens(folder, int(settings["data.vocabulary"]), int(settings["data.context"]), bits)
            kept = settings.get("model.blocks") or settings.get("model.preset-blocks")
            layers = int(kept) if kept else None  # a preset's number
            settings["data.path"] = folder
        elif settings.get("model.kind") == "vit-vae":
            write_images(folder / "images.npy", int(settings["data.image-size"]), 40)
            settings["data.path"] = folder / "images.npy"
        run = (options.keep or folder) / "run"
        words = [options.program, "train", "--out", str(run), *(f"--{name}={value}" for name, value in settings.items())]
        peak = train(words)
        found = look_at(run, layers)
    require(peak < ROOM, f"{peak / 2**30:.1f} GiB")
    print(f"{options.study.stem}, {arm}: loss {found}; {peak / 2**30:.1f} GiB at most")


if __name__ == "__main__":
    main()
