# SPDX-License-Identifier: Apache-2.0
"""A PyTorch training step watched by kappascope.attach, as a ratio to the step alone.

    .venv/bin/python benchmarks/attach_overhead.py [--rounds 12] [--steps 50]

The model is the benchmarks' own language model in the package transformers (4 layers, d 256, d_ff 768, 128 tokens x 8,
Adam). Two trainings take turns at every step, one watched, so that a machine whose speed drifts slows both; each round gives
a ratio, and the table has their median and quartiles, of the time that passes and of the processors' time, which other
programs of the machine disturb less.
"""

import argparse
import statistics
import tempfile
import time
from typing import Any

import kappascope
import torch
from language_speed import BATCH, CONTEXT, configuration
from transformers import LlamaForCausalLM

NEVER = 1_000_000
# name, limit, options of attach (None: a step alone again, which tells what the machine adds). The
# scope takes the time of both trainings for training time, so the budget is halved.
CASES = (
    ("nothing", 1.0, None),
    ("default schedule", 1.01, {"budget": 0.005}),
    ("exact moments at every step", 1.12, {"every": NEVER, "window": NEVER, "budget": 0.0, "probes": ["features"]}),
)


class Training:
    """One training under way."""

    def __init__(self, run: str = "", options: dict[str, Any] | None = None) -> None:
        torch.manual_seed(1)
        self.model = LlamaForCausalLM(configuration())
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.tokens = torch.randint(256, (BATCH, CONTEXT))
        self.scope = kappascope.attach(self.model, self.optimizer, run, **options) if options else None

    def step(self) -> tuple[float, float]:
        """The seconds that pass, and the processors'."""
        begin = time.perf_counter(), time.process_time()
        loss = self.model(input_ids=self.tokens, labels=self.tokens).loss
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
        loss.item()
        return time.perf_counter() - begin[0], time.process_time() - begin[1]


def seconds(first: Training, second: Training, steps: int) -> tuple[list[float], list[float]]:
    """Of both over as many steps, which they take in turn: what passes, and the processors'."""
    sums = {first: [0.0, 0.0], second: [0.0, 0.0]}
    for i in range(steps):
        for training in (first, second) if i % 2 else (second, first):
            sums[training] = [a + b for a, b in zip(sums[training], training.step())]
    return sums[first], sums[second]


def ratios(options: dict[str, Any] | None, rounds: int, steps: int) -> list[tuple[float, float]]:
    with tempfile.TemporaryDirectory() as folder:
        plain, watched = Training(), Training(folder + "/run", options)
        seconds(watched, plain, 10)
        found = []
        for _ in range(rounds):
            of_watched, of_plain = seconds(watched, plain, steps)
            found.append(tuple(a / b for a, b in zip(of_watched, of_plain)))
        if watched.scope is not None:
            watched.scope.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--steps", type=int, default=50, help="of each training, a round")
    given = parser.parse_args()
    print("| watched | step / step alone | quartiles | of processor time | quartiles | limit |")
    print("|---|--:|--:|--:|--:|--:|")
    for name, limit, options in CASES:
        cells = []
        for found in zip(*ratios(options, given.rounds, given.steps)):
            low, middle, high = statistics.quantiles(found, n=4)
            cells.append(f"{middle:.3f} | {low:.3f} to {high:.3f}")
        print(f"| {name} | {' | '.join(cells)} | {limit:g} |", flush=True)


if __name__ == "__main__":
    main()
