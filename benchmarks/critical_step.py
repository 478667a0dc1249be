# SPDX-License-Identifier: Apache-2.0
"""The critical step of a language model in training, beside λ1 of the preconditioned Hessian on the same batch.

    .venv/bin/python benchmarks/critical_step.py [--steps 20 60 150] [--optimizer adam]

The model is the benchmarks' own (4 layers, d 256, d_ff 768, 128 tokens x 8), on sequences that repeat, so that there is
something to learn. Each row compares after so many steps, on the batch of the last one, what either says of how near the
step is to its limit: 1 over the critical multiple, and λ1 over the optimiser's limit, which the first cannot exceed where the
step is that of the gradient alone. Costs are forward passes, and seconds over those of the spectrum (limits 6 and 0.3).
"""

import argparse
import time
from collections.abc import Callable

import kappascope
import torch
from language_speed import BATCH, CONTEXT, configuration
from torch import Tensor
from transformers import LlamaForCausalLM

MAKERS: dict[str, Callable[[torch.nn.Module], torch.optim.Optimizer]] = {
    "adam": lambda model: torch.optim.Adam(model.parameters(), lr=1e-3),
    "sgd": lambda model: torch.optim.SGD(model.parameters(), lr=0.05),
    "momentum": lambda model: torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9),
}


def batch(generator: torch.Generator) -> Tensor:
    """Rows that repeat eight tokens."""
    return torch.randint(256, (BATCH, 8), generator=generator).repeat(1, CONTEXT // 8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, nargs="+", default=[20, 60, 150])
    parser.add_argument("--optimizer", choices=list(MAKERS), nargs="+", default=list(MAKERS))
    given = parser.parse_args()
    print("| optimizer | steps | loss | 1 / critical multiple | λ1 / limit | evaluations | seconds / spectrum's |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name in given.optimizer:
        torch.manual_seed(1)
        generator = torch.Generator().manual_seed(2)
        model = LlamaForCausalLM(configuration())
        optimizer = MAKERS[name](model)
        for step in range(1, max(given.steps) + 1):
            tokens = batch(generator)

            def loss(tokens: Tensor = tokens) -> Tensor:
                found: Tensor = model(input_ids=tokens, labels=tokens).loss
                return found

            before = [p.detach().clone() for p in model.parameters()]
            optimizer.zero_grad()
            value = loss()
            value.backward()
            optimizer.step()
            if step not in given.steps:
                continue
            begin = time.perf_counter()
            found = kappascope.critical_step(loss, model, before, max_evaluations=6)
            critical = time.perf_counter() - begin
            begin = time.perf_counter()
            top = kappascope.spectrum(loss, model, optimizer=optimizer, top=1)
            spectrum = time.perf_counter() - begin
            share = f"{1 / found.upper:.3g} to {1 / found.lower:.3g}" if found.lower else f"above {1 / found.upper:.3g}"
            assert top.stability_limit is not None
            print(
                f"| {name} | {step} | {value.item():.3f} | {share} | "
                f"{top.eigenvalues[0].item() / top.stability_limit:.3g} | {found.evaluations} | "
                f"{critical / spectrum:.2g} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
