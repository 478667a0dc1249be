# SPDX-License-Identifier: Apache-2.0
"""The norm of all gradients, as a loop that clips them computes it.

While a run is open, what clip_grad_norm_() takes the norm with is a function that tells the scopes
whose gradients those are.
"""

import threading
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torch import Tensor
from torch.nn.utils import clip_grad

if TYPE_CHECKING:
    from .scope import Scope

_NAME = "_get_total_norm"  # of torch 2.10 to 2.15; without it, nothing is found
_lock = threading.Lock()
_watching: "weakref.WeakSet[Scope]" = weakref.WeakSet()
_original: Any = getattr(clip_grad, _NAME, None)


def watch(scope: "Scope") -> None:
    global _original
    if _original is None:
        return
    with _lock:
        _watching.add(scope)
        found = getattr(clip_grad, _NAME)
        if found is not _watched:
            _original = found
            setattr(clip_grad, _NAME, _watched)


def unwatch(scope: "Scope") -> None:
    with _lock:
        _watching.discard(scope)
        if not _watching and getattr(clip_grad, _NAME, None) is _watched:
            setattr(clip_grad, _NAME, _original)


def _watched(tensors: Iterable[Tensor], norm_type: float = 2.0, *arguments: Any, **options: Any) -> Any:
    tensors = list(tensors)
    norm = _original(tensors, norm_type, *arguments, **options)
    # That of a sharded model takes all processes.
    if float(norm_type) == 2 and type(norm) is Tensor:
        with _lock:
            scopes = list(_watching)
        for scope in scopes:
            if scope.owns(tensors):
                scope.gradient_norm(norm)
    return norm
