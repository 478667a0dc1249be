# SPDX-License-Identifier: Apache-2.0
"""A torch.amp.GradScaler between the loop and the optimiser: found where it steps, and what it skips
is no step.

While a run is open, torch.amp.GradScaler.step is a function that tells the scopes of that optimiser.
"""

import threading
import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .._optimizers import innermost
from .replaced import Replaced

if TYPE_CHECKING:
    from .scope import Scope

_lock = threading.Lock()
_watching: "weakref.WeakSet[Scope]" = weakref.WeakSet()
_Scaler: Any = torch.amp.GradScaler  # type: ignore[attr-defined]


def watch(scope: "Scope") -> None:
    with _lock:
        _watching.add(scope)
        _step.install()


def unwatch(scope: "Scope") -> None:
    with _lock:
        _watching.discard(scope)
        if not _watching:
            _step.remove()


def skips_itself(optimizer: Any) -> bool:
    """Whether the step() of a fused optimiser is about to change nothing: its scaler told it that
    gradients overflowed."""
    found = getattr(optimizer, "found_inf", None)
    return isinstance(found, Tensor) and bool(found > 0)


def _watched(scaler: Any, optimizer: Any, *arguments: Any, **options: Any) -> Any:
    if not scaler.is_enabled():
        return _step.original(scaler, optimizer, *arguments, **options)
    inner = innermost(optimizer)
    with _lock:
        scopes = [scope for scope in _watching if scope.follows(inner)]
    for scope in scopes:
        scope.begin_scaled(scaler)
    result = _step.original(scaler, optimizer, *arguments, **options)
    for scope in scopes:
        scope.end_scaled()
    return result


_step = Replaced(_Scaler, "step", _watched)
