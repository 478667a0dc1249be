# SPDX-License-Identifier: Apache-2.0
"""What kappascope.attach costs small models: outside of windows, and over a whole short run.

    .venv/bin/python benchmarks/small_models.py [--rounds 10] [--steps 40]

Four small models of the package transformers, on one thread. Both sides take turns and are measured
by the processor time of this process, which other programs disturb less than the clock. "outside" compares steps without
a window; "whole run" compares 50 steps, `attach()` and `close()` included, of the vision model at the default settings.
The tables have medians and quartiles of the rounds' ratios; the row "the same twice" tells what the machine adds.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import kappascope
import torch
import transformers

NEVER = 1_000_000
SHORT_RUN = 50
OUTSIDE, WHOLE = 1.005, 1.02


def language(config: str, model: str, **others: Any) -> Callable[[], tuple[torch.nn.Module, dict[str, torch.Tensor]]]:
    def make() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
        settings = {"vocab_size": 256, "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4}
        made = getattr(transformers, model)(getattr(transformers, config)(**settings, **others))
        tokens = torch.randint(256, (8, 64))
        return made, {"input_ids": tokens, "labels": tokens}

    return make


def vision() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    made = transformers.ViTForImageClassification(
        transformers.ViTConfig(
            image_size=64, patch_size=16, hidden_size=192, num_hidden_layers=12, num_attention_heads=3, intermediate_size=768
        )
    )
    return made, {"pixel_values": torch.randn(8, 3, 64, 64), "labels": torch.randint(2, (8,))}


MODELS = {
    "Llama": language("LlamaConfig", "LlamaForCausalLM", intermediate_size=192),
    "GPT-2": language("GPT2Config", "GPT2LMHeadModel", n_inner=256),
    "Mixtral": language(
        "MixtralConfig", "MixtralForCausalLM", intermediate_size=96, num_local_experts=4, num_key_value_heads=4
    ),
    "ViT": vision,
}


class Training:
    def __init__(self, name: str, run: str = "", **options: Any) -> None:
        torch.manual_seed(1)
        self.model, self.inputs = MODELS[name]()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.scope = kappascope.attach(self.model, self.optimizer, run, **options) if run else None

    def steps(self, count: int) -> None:
        for _ in range(count):
            loss = self.model(**self.inputs).loss
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            loss.item()

    def close(self) -> None:
        if self.scope is not None:
            self.scope.close()


def seconds(work: Callable[[], None]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def in_turn(rounds: int, plain: Callable[[], None], watched: Callable[[], None]) -> Iterator[float]:
    """Ratios of the rounds."""
    for i in range(rounds):
        first, second = (plain, watched) if i % 2 else (watched, plain)
        one, other = seconds(first), seconds(second)
        yield other / one if i % 2 else one / other


def outside(name: str, rounds: int, steps: int, watch: bool) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        plain = Training(name)
        # A budget would bring windows at halves of the interval.
        watched = Training(name, f"{folder}/run", every=NEVER, window=1, budget=0) if watch else Training(name)
        for training in (plain, watched):
            training.steps(20)  # the only window is the first step's
        found = list(in_turn(rounds, lambda: plain.steps(steps), lambda: watched.steps(steps)))
        watched.close()
        if watch:
            steps = kappascope.read(f"{folder}/run").frame().query("name == 'learning/sigma'").step
            assert steps.max() == 0, "a window was among the measured steps"
    return found


def whole_run(name: str, rounds: int) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        runs = iter(range(NEVER))

        def work(watch: bool) -> None:
            training = Training(name, f"{folder}/{next(runs)}", steps=SHORT_RUN) if watch else Training(name)
            training.steps(SHORT_RUN)
            training.close()

        work(False)
        return list(in_turn(rounds, lambda: work(False), lambda: work(True)))


def row(what: str, found: list[float], limit: float | None) -> None:
    low, middle, high = statistics.quantiles(found, n=4)
    print(f"| {what} | {middle:.4f} | {low:.4f} to {high:.4f} | {limit or ''} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=40, help="of each training, a round")
    given = parser.parse_args()
    torch.set_num_threads(1)
    print("| processor time with attach / alone | median | quartiles | limit |\n|---|--:|--:|--:|")
    row("the same twice, Llama", outside("Llama", given.rounds, given.steps, watch=False), None)
    for name in MODELS:
        row(f"outside of windows, {name}", outside(name, given.rounds, given.steps, watch=True), OUTSIDE)
    row(f"a whole run of {SHORT_RUN} steps, ViT", whole_run("ViT", given.rounds), WHOLE)


if __name__ == "__main__":
    main()
