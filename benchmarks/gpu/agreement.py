#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a device gives beside the host: condition numbers, eigenvalues, training.

    .venv/bin/python benchmarks/gpu/agreement.py [--device cuda] [--program build/release/bin/kappascope]

Without a GPU, --device cpu rehearses it. Each row is a difference within one call, with its limit.
"""

import argparse
import json
import math
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Callable
from typing import Any

import kappascope
import torch
from torch import nn

LIMIT_FLOAT = 2.0**-24


def row(name: str, value: float, limit: float | None, note: str = "") -> None:
    over = "" if limit is None or value <= limit else "   OVER"
    print(f"{value:12.4g} {'-' if limit is None else format(limit, '.4g'):>10}  {name}{'; ' + note if note else ''}{over}", flush=True)


def kappas(device: str) -> None:
    """Rows on the device beside the same rows on the host: off by the rounding of their sums, times κ."""
    for d in (64, 512):
        generator = torch.Generator().manual_seed(d)
        scale = torch.logspace(0, -1, d, dtype=torch.double)
        rows = torch.randn(16 * d, d, generator=generator, dtype=torch.double) * scale + 0.3
        for dtype in (torch.double, torch.float32, torch.bfloat16, torch.float16):
            typed = rows.to(dtype)
            host, there = kappascope.kappa(typed), kappascope.kappa(typed.to(device))
            off = abs(there.sigma.value / host.sigma.value - 1)
            # Sums of n products in float, within a block of which they are rounded.
            unit = LIMIT_FLOAT if dtype != torch.double else 2.0**-53
            row(f"kappa, {d} features of {dtype}: device / host - 1", off, unit * host.sigma.value * math.sqrt(16 * d))


def wait(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize()


def timed(device: str, work: Callable[[], Any]) -> float:
    """Seconds, the faster of two after one."""
    found = []
    for _ in range(3):
        wait(device)
        begin = time.perf_counter()
        work()
        wait(device)
        found.append(time.perf_counter() - begin)
    return min(found[1:])


def learning(device: str, widths: list[int]) -> None:
    """Learning times of bfloat16 rows on the device beside the host's, and what they cost there."""
    generator = torch.Generator().manual_seed(1)
    d, n = 512, 2048
    rows = torch.randn(n, d, generator=generator) * torch.logspace(0, -1, d) + 0.3
    host, there = kappascope.learning(rows), kappascope.learning(rows.to(device))
    # In float, with random directions of the same seed.
    row(f"learning, {d} features of float32: device / host - 1", abs(there.sigma.ninety.value / host.sigma.ninety.value - 1), 1e-3)
    for d in widths:
        rows = (torch.randn(n, d, generator=generator) * torch.logspace(0, -1, d) + 0.3).bfloat16().to(device)
        product = timed(device, lambda rows=rows: rows.float().t() @ rows.float())
        seconds = timed(device, lambda rows=rows: kappascope.learning(rows))
        row(f"learning, {n} rows of {d} features of bfloat16: seconds", seconds, 6, f"one product of all rows {product:.4f} s")


def small(device: str, dtype: torch.dtype) -> tuple[nn.Module, Callable[[], torch.Tensor]]:
    torch.manual_seed(3)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.SiLU(), nn.Flatten(), nn.Linear(4 * 36, 32), nn.SiLU(), nn.Linear(32, 5))
    x, y = torch.randn(64, 1, 8, 8), torch.randint(5, (64,))
    model, x, y = model.to(device, dtype), x.to(device, dtype), y.to(device)
    return model, lambda: nn.functional.cross_entropy(model(x), y)


def eigenvalues(device: str) -> None:
    model, loss = small("cpu", torch.double)
    truth = kappascope.spectrum(loss, model, top=5, tol=1e-6).eigenvalues.double()
    wide = truth.abs().max()

    def check(name: str, found: Any) -> None:
        error = (found.eigenvalues.double().cpu() - truth).abs().max() / wide
        bounds = torch.as_tensor(found.bounds).double().max() / wide if hasattr(found, "bounds") else torch.tensor(1e-3)
        row(f"five eigenvalues, {name}: largest error / largest value", float(error), max(float(bounds), 2e-3), found.status)

    for dtype in (torch.double, torch.float32):
        model, loss = small(device, dtype)
        check(str(dtype), kappascope.spectrum(loss, model, top=5))
    saved = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    check("float32, TF32 allowed", kappascope.spectrum(loss, model, top=5))
    torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = saved


def trained(program: str, device: str) -> None:
    """The trainer's loss there and here."""
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder, "input.txt")
        text.write_text("the quick brown fox jumps over the lazy dog\n" * 4000)
        losses = []
        for name, where in (("host", "cpu"), ("there", device)):
            # Dropout would draw other masks there.
            done = subprocess.run(
                [program, "train", "--data", str(text), "--device", where, "--train.steps", "30", "--model.dropout", "0",
                 "--probes.hessian", "false", "--out", f"{folder}/{name}", "--json"],
                capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"train --device {where} ended with {done.returncode}: {done.stderr[-2000:]}")
            losses.append(json.loads(done.stdout)["loss"])
        row("trainer: loss after 30 steps, device / host - 1", abs(losses[1] / losses[0] - 1), 1e-2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--program")
    given = parser.parse_args()
    name = torch.cuda.get_device_name() if given.device != "cpu" else "the host rehearses"
    print(f"{name}, torch {torch.__version__}\n{'value':>12} {'limit':>10}  what")
    kappas(given.device)
    eigenvalues(given.device)
    learning(given.device, [512] if given.device == "cpu" else [3072, 11_008, 14_336])
    if given.program:
        trained(given.program, given.device)


if __name__ == "__main__":
    main()
