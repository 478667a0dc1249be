# SPDX-License-Identifier: Apache-2.0
"""A first look: trains a small gated language model on this machine, watches it, and shows the page.

    kappascope demo [--out FOLDER] [--steps N] [--budget SHARE] [--no-browser]      or: python -m kappascope.demo

Two trainings of some twenty seconds, one with a bias after the gate and one without, on the text of
Python's own help. Nothing is fetched.
"""

import argparse
import os
import sys
import time
import webbrowser
from pathlib import Path
from pydoc_data.topics import topics

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import kappascope

CONTEXT, BATCH, WIDTH, HIDDEN, LAYERS, HEADS = 64, 16, 96, 256, 3, 4


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        out: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return out


class SwiGlu(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.up_proj = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down_proj = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.RMSNorm(WIDTH) for _ in range(2))
        self.attention, self.mlp = Attention(), SwiGlu()

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norms[0](x))
        out: Tensor = x + self.mlp(self.norms[1](x))
        return out


class LanguageModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(128, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, 128, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        out: Tensor = self.head(self.norm(self.blocks(x)))
        return out


def loss_of(model: nn.Module, rows: Tensor) -> Tensor:
    return F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())


def train(text: Tensor, run: Path, label: str, bias: bool, steps: int, budget: float) -> None:
    torch.manual_seed(1)
    model = LanguageModel()
    if bias:
        kappascope.add_post_gating_bias(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    starts = torch.randint(len(text) - CONTEXT - 1, (steps, BATCH))
    fixed = text[torch.arange(4)[:, None] * 1000 + torch.arange(CONTEXT + 1)]
    scope = kappascope.attach(
        model,
        optimizer,
        run,
        curvature=lambda: loss_of(model, fixed),
        every=max(steps // 6, 8),
        budget=budget,
        steps=steps,
        label=label,
        on_alarm=lambda alarm: None,
    )
    begin = time.monotonic()
    with scope:
        for step in range(steps):
            loss = loss_of(model, text[starts[step][:, None] + torch.arange(CONTEXT + 1)])
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
            if sys.stderr.isatty():
                print(f"\r  {label}: step {step + 1} of {steps}, loss {loss.item():.3f}", end="", file=sys.stderr)
    end = "\n" if sys.stderr.isatty() else ""
    print(f"{end}  {label}: {steps} steps in {time.monotonic() - begin:.0f} s, loss {loss.item():.3f}", file=sys.stderr)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="kappascope demo", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("kappascope-demo"), help="folder for two runs and their page")
    parser.add_argument("--steps", type=int, default=300, help="of each training")
    parser.add_argument(
        "--budget",
        type=float,
        default=0.25,  # of a training of seconds; the default of attach() is 0.01
        help="share of the training time for the probes (default: 0.25; 0 sets no limit)",
    )
    parser.add_argument("--no-browser", action="store_true", help="only write the page")
    given = parser.parse_args(arguments)
    if given.steps < 1:
        parser.error("--steps must be positive")
    runs = {"no bias": given.out / "none", "post-gating bias": given.out / "post-gating"}
    if there := [str(run) for run in runs.values() if run.exists()]:
        print(f"kappascope demo: error: {there[0]} is there already: name another folder with --out", file=sys.stderr)
        return 1
    text = torch.tensor([ord(c) for c in "\n".join(topics.values()) if ord(c) < 128])
    # Two were slower for so small a model, and wait for each other on a busy machine.
    torch.set_num_threads(1)
    print("training a gated language model of 0.4 million parameters twice", file=sys.stderr)
    for label, run in runs.items():
        train(text, run, label, label != "no bias", given.steps, given.budget)
    page = Path(kappascope.report([*runs.values()], given.out / "report.html")).resolve()
    print(kappascope.advise(runs["no bias"]))
    print(f"\npage: {page}")
    # A browser of a terminal would take it over.
    if not given.no_browser and (sys.platform == "darwin" or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))):
        webbrowser.open(page.as_uri())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
