# SPDX-License-Identifier: Apache-2.0
"""What attach() finds in a model, and the loss whose curvature is asked for."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from .experts import Bank
from .layers import Layer
from .._losses import Answer
from .._optimizers import answer_preconditioner
from .._processes import ShardedLoss, answer_for, is_sharded, unsynchronised


@dataclass
class Watched:
    model: nn.Module
    """Without what a compiler or DistributedDataParallel wraps around it."""
    called: nn.Module
    """That, or what a compiler wraps around it: its hooks see what enters and leaves the model."""
    compiled: bool
    layers: list[Layer]
    banks: list[Bank]
    numbers: dict[str, float]
    """The settings of the session."""
    named: dict[str, Tensor] = field(default_factory=dict)
    """The parameters by which the curvature is taken."""
    source: int = -1
    """The number under which C++ asks for its loss."""
    sharded: bool = False
    kept: list[Any] = field(default_factory=list)
    """What answers C++, as long as it is here: nothing else may keep the model."""

    def settings(self) -> tuple[int, dict[str, float], bool]:
        """How many it watches, and what must be the same in all processes."""
        return len(self.layers) + len(self.banks), self.numbers, self.source >= 0

    def answer(
        self,
        named: dict[str, Tensor],
        wrapped: nn.Module,
        optimizer: torch.optim.Optimizer,
        curvature: Callable[[], Tensor],
        group: Any,
    ) -> None:
        evaluate = _evaluation(wrapped, self.model, curvature)
        answer = Answer(lambda _: evaluate(), named.values)
        self.named, self.source = named, answer.number
        self.kept = [answer, answer_preconditioner(answer.number, optimizer, named)]
        self.sharded = any(map(is_sharded, named.values()))
        if self.sharded:
            loss = ShardedLoss(lambda: [evaluate()], self.model, named, group)
            loss.shards()  # what is not sharded over these processes is said now
            answer_for(answer.number, loss)
            self.kept.append(loss)


def _evaluation(
    model: nn.Module, inner: nn.Module, loss: Callable[[], Tensor]
) -> Callable[[], Tensor]:
    def evaluate() -> Tensor:
        modes = [(module, module.training) for module in inner.modules()]
        inner.eval()
        try:
            with (
                unsynchronised(model),
                sdpa_kernel(SDPBackend.MATH),
                torch.compiler.set_stance("force_eager"),
            ):
                return loss()
        finally:
            for module, training in modes:
                module.training = training

    return evaluate
