# SPDX-License-Identifier: Apache-2.0
"""The norm of all gradients, as a loop that clips them computes it.

While a run is open, what clip_grad_norm_() takes the norm with is a function that tells those that
wait for it.
"""

import weakref
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad

from .backward import Roots
from .replaced import Replaced


class GradientNorm:
    """That of one update of a model, told by the user or found."""

    def __init__(self, model: nn.Module, roots: Roots) -> None:
        self._parameters = [weakref.ref(p) for p in model.parameters()]
        self._roots = roots
        self.next()

    def next(self) -> None:
        self.value: Tensor | float | None = None
        self._is_told = False

    def tell(self, norm: Tensor | float) -> None:
        self.value = norm.detach().clone() if isinstance(norm, Tensor) else float(norm)
        self._is_told = True

    def unscale(self, scaler: Any) -> bool:
        """Where a norm was found, of gradients that the scaler had multiplied; whether it was."""
        if self.value is None or self._is_told:
            return False
        self.value = self.value / float(scaler.get_scale())
        return True

    def find(self, gradients: list[Tensor], norm: Tensor) -> None:
        """Somebody took the norm of these: the update's, where they are all of the model and of
        nothing else, and nobody has taken it since the last pass, before clipping say."""
        if self._is_told or not (self._roots.is_here and self._roots.passed):
            return
        held = (p.grad for ref in self._parameters if (p := ref()) is not None)
        mine = {id(grad) for grad in held if grad is not None}
        if mine and len(mine) == len(gradients) and all(id(g) in mine for g in gradients):
            self._roots.passed = False
            self.value = norm.detach().clone()


def _watched(tensors: Iterable[Tensor], norm_type: float = 2.0, *arguments: Any, **options: Any) -> Any:
    if torch.compiler.is_compiling():
        return total.original(tensors, norm_type, *arguments, **options)
    tensors = list(tensors)
    norm = total.original(tensors, norm_type, *arguments, **options)
    # That of a sharded model takes all processes.
    if float(norm_type) == 2 and type(norm) is Tensor:
        for waiting in total.watchers():
            waiting.find(tensors, norm)
    return norm


# Of torch 2.10 to 2.15; where there is none, nothing is found.
total: Replaced[GradientNorm] = Replaced(clip_grad, "_get_total_norm", _watched)
