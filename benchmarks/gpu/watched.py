#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training at the widths people train, watched by kappascope.attach with its defaults, beside training alone.

    .venv/bin/python benchmarks/gpu/watched.py [--device cuda] [--widths 3072 11008 14336] [--steps 200]

Each width: a stack of gated blocks in bf16 autocast with AdamW, the host never waiting for the device but where
kappascope makes it wait. Without a GPU, --device cpu rehearses it at a small size.
"""

import argparse
import json
import pathlib
import statistics
import tempfile
import time
import warnings
from typing import Any, NamedTuple

import kappascope
import torch
from agreement import row, wait
from torch import Tensor, nn
from torch.nn import functional


class Shape(NamedTuple):
    layers: int
    width: int
    hidden: int
    tokens: int


SHAPES = {
    64: Shape(2, 32, 64, 512),  # a rehearsal
    3072: Shape(12, 1024, 3072, 16_384),
    11008: Shape(4, 4096, 11_008, 8192),
    14336: Shape(4, 4096, 14_336, 8192),
}
SEQUENCE = 256
COST_LIMIT = 1.01
NEVER: dict[str, Any] = {"every": 100_000, "window": 1, "budget": 0.0}  # no window in these steps


class Block(nn.Module):
    """[sequences, tokens, width] -> the same"""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(shape.width)
        self.gate_proj = nn.Linear(shape.width, shape.hidden, bias=False)
        self.up_proj = nn.Linear(shape.width, shape.hidden, bias=False)
        self.down_proj = nn.Linear(shape.hidden, shape.width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(x)
        return x + self.down_proj(functional.silu(self.gate_proj(h)) * self.up_proj(h))


class Training:
    """One training under way, and what watches it."""

    def __init__(self, shape: Shape, device: str, compiled: bool = False, **options: Any) -> None:
        torch.manual_seed(1)
        self.device = device
        model = nn.Sequential(*(Block(shape) for _ in range(shape.layers))).to(device)
        self.x = torch.randn(shape.tokens // SEQUENCE, SEQUENCE, shape.width, device=device)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
        self.scope = kappascope.attach(model, self.optimizer, **options) if options else None
        self.call = torch.compile(model) if compiled else model

    def step(self) -> None:
        with torch.autocast(self.device, torch.bfloat16):
            loss = functional.mse_loss(self.call(self.x), self.x.roll(1, 1))
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def seconds(self, steps: int) -> float:
        """Of all of them, the device's work included."""
        wait(self.device)
        begin = time.perf_counter()
        for _ in range(steps):
            self.step()
        wait(self.device)
        return time.perf_counter() - begin

    def each(self, steps: int) -> list[float]:
        return [self.seconds(1) for _ in range(steps)]

    def close(self) -> None:
        if self.scope is not None:
            self.scope.close()


def peak(device: str) -> int:
    return 0 if device == "cpu" else torch.cuda.max_memory_allocated()


def reset_peak(device: str) -> None:
    if device != "cpu":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def waits_outside_windows(shape: Shape, device: str, folder: str) -> float | None:
    """How often a step without a window makes the host wait for the device."""
    if device == "cpu":
        return None
    training = Training(shape, device, run=f"{folder}/waits", **NEVER)
    training.seconds(3)
    steps = 10
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        for _ in range(steps):
            training.step()
        torch.cuda.set_sync_debug_mode("default")
    training.close()
    return sum("called a synchronizing" in str(w.message) for w in caught) / steps


def watched(shape: Shape, device: str, steps: int) -> dict[str, Any]:
    """Seconds a step alone and watched, and what the run holds at the end."""
    found: dict[str, Any] = {}
    parts, rest = 5, steps // 5
    with tempfile.TemporaryDirectory() as folder:
        alone = Training(shape, device)
        alone.seconds(10)
        reset_peak(device)
        found["alone"] = [alone.seconds(rest) / rest for _ in range(parts)]
        found["memory_alone"] = peak(device)
        del alone
        reset_peak(device)
        training = Training(shape, device, run=folder + "/run")
        found["watched"] = [training.seconds(rest) / rest for _ in range(parts)]
        found["memory"] = peak(device)
        training.close()
        frame = kappascope.read(folder + "/run").frame()
        learning = frame[frame.name == "learning/sigma"]
        found["measured"] = learning.layer.nunique()
        found["resolved"] = learning[learning.status == "resolved"].layer.nunique()
        cost = frame[frame.name.str.startswith("cost/")]
        found["cost"] = cost[cost.step == cost.step.max()].set_index("name").value.to_dict()
        del training
        reset_peak(device)
        found["waits"] = waits_outside_windows(shape, device, folder)
        each = Training(shape, device, run=folder + "/each")
        found["longest"] = max(each.each(60))
        each.close()
    return found


def compiled(shape: Shape, device: str, steps: int) -> dict[str, Any]:
    """torch.compile: a step outside of windows with and without."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, options in (("alone", {}), ("watched", {"run": folder + "/run", **NEVER})):
            torch._dynamo.reset()
            training = Training(shape, device, compiled=True, **options)
            training.seconds(10)
            found[name] = [training.seconds(steps // 4) / (steps // 4) for _ in range(3)]
            training.close()
            del training
            reset_peak(device)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--widths", type=int, nargs="*", choices=SHAPES, default=[3072, 14_336])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--compile", action="store_true", help="compiled models too")
    parser.add_argument("--out", help="a file for all numbers, JSON")
    given = parser.parse_args()
    name = torch.cuda.get_device_name() if given.device != "cpu" else "the host rehearses"
    print(f"{name}, torch {torch.__version__}\n{'value':>12} {'limit':>10}  what")
    everything = {}
    for hidden in given.widths:
        shape = SHAPES[hidden]
        found = everything[hidden] = watched(shape, given.device, given.steps)
        alone = statistics.median(found["alone"])
        what = f"{shape.layers} layers of d_ff {hidden}, {shape.tokens} tokens, {alone * 1e3:.1f} ms a step"
        row(f"{what}: {given.steps} steps watched / alone", statistics.mean(found["watched"]) / alone, COST_LIMIT)
        if found["waits"] is not None:
            row(f"{what}: waits for the device in a step without a window", found["waits"], 0)
        row(f"{what}: longest of 60 steps / a step alone", found["longest"] / alone, None)
        row(f"{what}: MiB beyond training", (found["memory"] - found["memory_alone"]) / 2**20, None)
        row(f"{what}: layers measured", found["measured"], None, f"{found['resolved']} resolved; {found['cost']}")
        if given.compile:
            found["compiled"] = compiled(shape, given.device, given.steps)
            ratio = statistics.median(found["compiled"]["watched"]) / statistics.median(found["compiled"]["alone"])
            row(f"{what}: compiled, steps without a window / alone", ratio, COST_LIMIT)
    if given.out:
        pathlib.Path(given.out).write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
