# SPDX-License-Identifier: Apache-2.0
"""One loop with optimisers of torch.optim, transformers and pytorch-optimizer."""

import sys
import unittest
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytorch_optimizer
import torch
import transformers
from loops import Loop, Optimizers
from torch import Tensor, nn, optim

sys.path.insert(0, str(Path(__file__).parent.parent / "python/watching"))
from training import Model, batches, loss_of  # noqa: E402

Parameters = Iterable[nn.Parameter]
OF_MODEL: dict[str, Callable[[Parameters], Any]] = {
    "torch.optim: Adafactor": lambda p: optim.Adafactor(p, lr=1e-2),
    "transformers: Adafactor": lambda p: transformers.Adafactor(p),  # makes its own rate,
    "torch.optim: AdamW, fused": lambda p: optim.AdamW(p, lr=1e-3, fused=True),
    "torch.optim: AdamW, rate a tensor": lambda p: optim.AdamW(p, lr=torch.tensor(1e-3)),
    "torch.optim: SGD, fused": lambda p: optim.SGD(p, lr=1e-2, momentum=0.9, fused=True),
    "torch.optim: SGD, rate a tensor": lambda p: optim.SGD(p, lr=torch.tensor(1e-2)),
    "pytorch-optimizer: Prodigy": lambda p: pytorch_optimizer.Prodigy(p),
    "pytorch-optimizer: ScheduleFreeAdamW": lambda p: pytorch_optimizer.ScheduleFreeAdamW(p),
    "pytorch-optimizer: SOAP": lambda p: pytorch_optimizer.SOAP(p, precondition_frequency=2),
}
SEARCHES: dict[str, dict[str, Any]] = {
    "torch.optim: L-BFGS": {"max_iter": 4},
    "torch.optim: L-BFGS, strong Wolfe": {"max_iter": 2, "line_search_fn": "strong_wolfe"},
}


def matrices_apart(model: nn.Module) -> Optimizers:
    """Muon takes the matrices of the layers."""
    layers = list(model.layers.parameters())
    others = [p for name, p in model.named_parameters() if not name.startswith("layers.")]
    return [optim.Muon(layers, lr=0.02), optim.AdamW(others, lr=1e-3)]


def evaluate(model: nn.Module, optimizers: Optimizers, tokens: Tensor) -> Tensor:
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss = loss_of(model(tokens), tokens)
    loss.backward()
    return loss


def update(model: nn.Module, optimizers: Optimizers, number: int) -> float:
    loss = evaluate(model, optimizers, batches(8)[number])
    for optimizer in optimizers:
        optimizer.step()
    return loss.item()


def search(model: nn.Module, optimizers: Optimizers, number: int) -> float:
    """The closure is evaluated several times; of the first the step begins."""
    losses: list[float] = []

    def closure() -> Tensor:
        loss = evaluate(model, optimizers, batches(8)[number])
        losses.append(loss.item())
        return loss

    optimizers[0].step(closure)
    assert len(losses) > 1
    return losses[0]


class OfModel(Loop):
    layers = [f"layers.{i}.down_proj" for i in range(2)]

    def check_optimizer(self, name: str, make: Callable[[nn.Module], Optimizers], step: Any = update) -> None:
        def made() -> tuple[nn.Module, Optimizers]:
            model = Model().double().eval()  # without random masks, that a search sees one function
            return model, make(model)

        with self.subTest(name):
            self.setUp()
            self.check(name, self.layers, made, step)

    def test_one_optimiser(self) -> None:
        for name, make in OF_MODEL.items():
            self.check_optimizer(name, lambda model, make=make: [make(model.parameters())])

    def test_muon_beside_adamw(self) -> None:
        self.check_optimizer("torch.optim: Muon beside AdamW", matrices_apart)

    def test_a_closure_that_is_evaluated_several_times(self) -> None:
        for name, options in SEARCHES.items():
            self.check_optimizer(
                name,
                lambda model, options=options: [optim.LBFGS(model.parameters(), lr=0.1, **options)],
                search,
            )


if __name__ == "__main__":
    unittest.main()
