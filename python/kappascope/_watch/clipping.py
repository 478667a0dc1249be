# SPDX-License-Identifier: Apache-2.0
"""The norm of all gradients, as a loop that clips them computes it.

While a run is open, what clip_grad_norm_() takes the norm with is a function that tells the scopes
whose gradients those are.
"""

import threading
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.utils import clip_grad

from .replaced import Replaced

if TYPE_CHECKING:
    from .scope import Scope

_lock = threading.Lock()
_watching: "weakref.WeakSet[Scope]" = weakref.WeakSet()


def watch(scope: "Scope") -> None:
    with _lock:
        _watching.add(scope)
        _total.install()


def unwatch(scope: "Scope") -> None:
    with _lock:
        _watching.discard(scope)
        if not _watching:
            _total.remove()


def _watched(tensors: Iterable[Tensor], norm_type: float = 2.0, *arguments: Any, **options: Any) -> Any:
    if torch.compiler.is_compiling():
        return _total.original(tensors, norm_type, *arguments, **options)
    tensors = list(tensors)
    norm = _total.original(tensors, norm_type, *arguments, **options)
    # That of a sharded model takes all processes.
    if float(norm_type) == 2 and type(norm) is Tensor:
        with _lock:
            scopes = list(_watching)
        for scope in scopes:
            scope.see_norm(tensors, norm)
    return norm


# Of torch 2.10 to 2.15; where there is none, nothing is found.
_total = Replaced(clip_grad, "_get_total_norm", _watched)
