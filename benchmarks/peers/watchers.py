# SPDX-License-Identifier: Apache-2.0
"""Training watched by kappascope and by trainscope: the numbers that both have, and what either costs.

    benchmarks/peers/run watchers [--rounds 12] [--steps 50]

The model is the benchmarks' own language model in the package transformers (4 layers, d 256, d_ff 768, 128 tokens x 8,
Adam). First table: numbers of one training that both watch, or of which llm-internal-medicine (for Megatron, so not
installed) documents a formula, here computed in PyTorch. Second table: trainings take turns; each round gives ratios to the
training alone, of which the table has median and quartiles (limit: our overhead at most half of theirs).
"""
import argparse
import math
import pathlib
import statistics
import sys
import tempfile
import time

import kappascope
import torch
from trainscope import TrainScope
from trainscope.core.config import TrainScopeConfig
from trainscope.core.metrics import compute_activation_metrics, compute_weight_metrics
from transformers import LlamaForCausalLM

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from language_speed import BATCH, CONTEXT, configuration  # noqa: E402

WINDOW = 4


class Training:
    """One training under way, watched by what `watch(model, optimizer, folder)` gives, or alone."""

    def __init__(self, folder="", watch=None):
        torch.manual_seed(1)
        self.model = LlamaForCausalLM(configuration())
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.tokens = torch.randint(256, (BATCH, CONTEXT))
        self.scope = watch(self.model, self.optimizer, folder) if watch else None

    def step(self):
        loss = self.model(input_ids=self.tokens, labels=self.tokens).loss
        loss.backward()
        if isinstance(self.scope, TrainScope):
            self.scope.step(loss.item())
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.item()

    def seconds(self, steps):
        begin = time.perf_counter()
        for _ in range(steps):
            self.step()
        return time.perf_counter() - begin

    def close(self):
        if isinstance(self.scope, TrainScope):
            self.scope.detach()
        elif self.scope is not None:
            self.scope.close()


def watched_by_trainscope(**options):
    def watch(model, optimizer, folder):
        return TrainScope(model, optimizer, TrainScopeConfig(run_dir=folder, run_name="run", **options)).attach()
    return watch


def watched_by_us(**options):
    return lambda model, optimizer, folder: kappascope.attach(model, optimizer, folder + "/run", **options)


def apart(a, b):
    return abs(a - b) / abs(b)


def same_numbers():
    """One window of ours; each row is of its last step, or of its steps."""
    phi, weights = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        training = Training(folder, watched_by_us(every=WINDOW, window=WINDOW, budget=0.0))
        layers = {name: m for name, m in training.model.named_modules() if name.endswith("down_proj")}
        for name, module in layers.items():
            module.register_forward_pre_hook(
                lambda _, inputs, name=name: phi.setdefault(name, []).append(inputs[0].detach().clone()))
        for _ in range(WINDOW):
            for name, module in layers.items():
                weights.setdefault(name, []).append(module.weight.detach().clone())
            training.step()
        training.close()
        frame = kappascope.read(folder + "/run").frame()
    rows = frame[frame.step == WINDOW - 1].set_index(["name", "layer"])

    def ours(name, layer):
        return rows.loc[(name, layer)]

    def inside(row, truth):
        return "inside" if row.lower <= truth <= row.upper else "OUTSIDE"

    print("| number | of | kappascope | theirs | apart, or in our interval |")
    print("|---|---|--:|--:|--:|")
    for layer in layers:
        whole = torch.cat([rows.flatten(0, 1) for rows in phi[layer]])
        before = weights[layer]
        largest = ours("magnitude/largest", layer).value
        theirs = max(compute_activation_metrics(one)["act_max_abs"] for one in phi[layer])
        print(f"| largest absolute feature of the window | trainscope | {largest:.6g} | {theirs:.6g} | {apart(largest, theirs):.0e} |")
        norm = ours("weight/down_norm", layer).value * math.sqrt(ours("weight/down_stable_rank", layer).value)
        theirs = compute_weight_metrics(before[-1])["weight_l2_norm"]
        print(f"| Frobenius norm of W_d | trainscope | {norm:.6g} | {theirs:.6g} | {apart(norm, theirs):.0e} |")
        row, theirs = ours("magnitude/p99", layer), float(whole.abs().flatten().kthvalue(round(0.99 * whole.numel())).values)
        print(f"| 99th percentile of the absolute features | llm-internal-medicine | {row.value:.6g} | {theirs:.6g} | {inside(row, theirs)} |")
        # Theirs divides by the weights after the step, which are that much larger.
        moved = [(b.double() - a.double()).square().sum() for a, b in zip(before, before[1:])]
        after = [b.double().square().sum() for b in before[1:]]
        row, theirs = ours("weight/down_update", layer), float((sum(moved) / sum(after)).sqrt())
        print(f"| update over weights | llm-internal-medicine | {row.value:.6g} | {theirs:.6g} | {inside(row, theirs)} |")


CASES = {
    "kappascope, default": watched_by_us(budget=0.01 / 4),
    "trainscope, default": watched_by_trainscope(),
    "trainscope, minimal": watched_by_trainscope(histogram_every_n_steps=100, activation_metrics_every_n_steps=50,
                                                 activation_layer_filter=["attn", "mlp"], track_memory=False),
}


def costs(rounds, steps):
    with tempfile.TemporaryDirectory() as folder:
        plain = Training()
        # A scope takes the time of all four trainings for its own, so the budget is a quarter.
        others = {name: Training(f"{folder}/{i}", watch) for i, (name, watch) in enumerate(CASES.items())}
        trainings = [plain, *others.values()]
        for training in trainings:
            training.seconds(10)
        ratios = {name: [] for name in others}
        for i in range(rounds):
            turn = trainings[i % len(trainings):] + trainings[: i % len(trainings)]
            times = {training: training.seconds(steps) for training in turn}
            for name, training in others.items():
                ratios[name].append(times[training] / times[plain])
        for training in others.values():
            training.close()
    print("| watched by | step / step alone | quartiles |")
    print("|---|--:|--:|")
    for name, found in ratios.items():
        low, middle, high = statistics.quantiles(found, n=4)
        print(f"| {name} | {middle:.3f} | {low:.3f} to {high:.3f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--steps", type=int, default=50, help="of each training, a round")
    given = parser.parse_args()
    same_numbers()
    print(flush=True)
    costs(given.rounds, given.steps)


if __name__ == "__main__":
    main()
