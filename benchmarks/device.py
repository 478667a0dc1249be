#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a device gives beside the host: condition numbers, eigenvalues, a watched step, training.

    .venv/bin/python benchmarks/device.py [--device cuda] [--widths 3072 11008] [--program build/release/bin/kappascope]

Without a GPU, --device cpu rehearses it. Each row is a ratio or a difference within one call, with its limit.
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


class Gated(nn.Module):
    """[rows, width] -> [rows, width]."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(width, hidden, bias=False)
        self.up_proj = nn.Linear(width, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


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


def seconds(step: Callable[[], None], steps: int, device: str) -> list[float]:
    """Of each step, its work on the device included."""
    found = []
    for _ in range(steps):
        begin = time.perf_counter()
        step()
        if device != "cpu":
            torch.cuda.synchronize()
        found.append(time.perf_counter() - begin)
    return found


def watched(device: str, hidden: int, tokens: int, steps: int) -> None:
    """All steps of a watched training beside those of the training alone, the first window's included."""
    width = max(64, hidden * 3 // 8 // 64 * 64)
    torch.manual_seed(1)
    x = torch.randn(tokens, width, device=device)

    def training(run: str | None) -> tuple[list[float], Any]:
        torch.manual_seed(2)
        model = nn.Sequential(Gated(width, hidden), Gated(width, hidden)).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        scope = kappascope.attach(model, optimizer, run=run) if run else None

        def step() -> None:
            with torch.autocast(device, torch.bfloat16):
                loss = nn.functional.mse_loss(model(x), x.roll(1, 1))
            loss.backward()
            if scope is not None:
                scope.loss(loss)
            optimizer.step()
            optimizer.zero_grad()

        times = seconds(step, steps, device)
        if scope is not None:
            scope.close()
        return times, scope

    training(None)  # warms up kernels and allocator
    alone, _ = training(None)
    with tempfile.TemporaryDirectory() as folder:
        times, _ = training(folder + "/run")
        frame = kappascope.read(folder + "/run").frame()
    plain, kappa = sorted(alone)[steps // 2], frame[frame.series == "kappa/sigma"] if "series" in frame else frame
    row(f"d_ff {hidden}: step watched / alone, median of {steps}", sorted(times)[steps // 2] / plain, 1.01)
    row(f"d_ff {hidden}: longest step watched / median alone", max(times) / plain, None, f"{max(times):.2f} s")
    row(f"d_ff {hidden}: all steps watched / alone", sum(times) / sum(alone), None, f"{len(kappa)} rows of kappa stored")


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
    parser.add_argument("--widths", type=int, nargs="*", default=[3072])
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--program")
    given = parser.parse_args()
    name = torch.cuda.get_device_name() if given.device != "cpu" else "the host rehearses"
    print(f"{name}, torch {torch.__version__}\n{'value':>12} {'limit':>10}  what")
    kappas(given.device)
    eigenvalues(given.device)
    if given.program:
        trained(given.program, given.device)
    for hidden in given.widths:
        watched(given.device, hidden, given.tokens, given.steps)


if __name__ == "__main__":
    main()
