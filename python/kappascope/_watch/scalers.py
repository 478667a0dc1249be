# SPDX-License-Identifier: Apache-2.0
"""A torch.amp.GradScaler between the loop and the optimiser: found where it steps, and what it skips
is no step.

While a run is open, torch.amp.GradScaler.step is a function that tells the loops of that optimiser.
"""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .._optimizers import innermost
from .replaced import Replaced

if TYPE_CHECKING:
    from .loop import Loop

_Scaler: Any = torch.amp.GradScaler  # type: ignore[attr-defined]


def skips_itself(optimizer: Any) -> bool:
    """Whether the step() of a fused optimiser is about to change nothing: its scaler told it that
    gradients overflowed."""
    found = getattr(optimizer, "found_inf", None)
    return isinstance(found, Tensor) and bool(found > 0)


def _is_unscaled(scaler: Any, optimizer: Any) -> bool:
    """Whether the loop called scaler.unscale_(optimizer); of torch 2.10 to 2.15, and taken for granted
    where nothing says so."""
    states = getattr(scaler, "_per_optimizer_states", None)
    if states is None:
        return True
    state = states.get(id(optimizer))
    return state is not None and getattr(state["stage"], "name", "") == "UNSCALED"


def _watched(scaler: Any, optimizer: Any, *arguments: Any, **options: Any) -> Any:
    if not scaler.is_enabled():
        return step.original(scaler, optimizer, *arguments, **options)
    inner = innermost(optimizer)
    loops = [loop for loop in step.watchers() if loop.follows(inner)]
    unscaled = _is_unscaled(scaler, optimizer)
    for loop in loops:
        loop.begin_scaled(scaler, unscaled)
    result = step.original(scaler, optimizer, *arguments, **options)
    for loop in loops:
        loop.end_scaled()
    return result


step: "Replaced[Loop]" = Replaced(_Scaler, "step", _watched)
