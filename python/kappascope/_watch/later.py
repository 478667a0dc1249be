# SPDX-License-Identifier: Apache-2.0
"""The loss and the gradient norm of a step, which a device may not have computed yet: nobody waits
for it outside of windows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .shards import plain


@dataclass(frozen=True)
class Losses:
    """Those of an update's passes, and the loss of the update that they make."""

    passes: list[Tensor]
    combine: Callable[[list[float]], float]

    def value(self) -> float:
        """A device is waited for once."""
        return self.combine(_numbers(self.passes))


class Numbers:
    """A loss and a norm on their way to the host; None: not known."""

    def __init__(self, losses: Losses | None, norm: Tensor | float | None) -> None:
        self._losses = losses
        self._norm = norm
        tensors = list(losses.passes) if losses is not None else []
        if isinstance(norm, Tensor):
            tensors.append(norm)
        self._there = _mark(tensors)
        if self._there is not None:
            if losses is not None:
                self._losses = Losses([_on_its_way(x) for x in losses.passes], losses.combine)
            if isinstance(norm, Tensor):
                self._norm = _on_its_way(norm)
            self._there.record()

    def are_there(self) -> bool:
        return self._there is None or bool(self._there.query())

    def get(self) -> tuple[float | None, float | None]:
        """Waits for the device; of one that failed, which the loop is told by its own next call,
        nothing is known."""
        if self._there is not None:
            try:
                self._there.synchronize()
            except RuntimeError:
                return None, None
        loss = None if self._losses is None else self._losses.value()
        return loss, None if self._norm is None else float(self._norm)


def _mark(tensors: list[Tensor]) -> Any:
    """A point in the work of the device that computes them; None where the host does."""
    devices = {tensor.device for tensor in tensors if tensor.is_cuda}
    return torch.cuda.Event() if len(devices) == 1 else None


def _on_its_way(tensor: Tensor) -> Tensor:
    return plain(tensor).float().mean().to("cpu", non_blocking=True)


def _numbers(losses: list[Tensor]) -> list[float]:
    if len(losses) == 1 and losses[0].numel() == 1:
        return [float(plain(losses[0]).item())]
    return torch.stack([plain(loss).float().mean() for loss in losses]).tolist()
