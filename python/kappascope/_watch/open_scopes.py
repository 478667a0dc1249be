# SPDX-License-Identifier: Apache-2.0
"""The scopes that are open in this process."""

import os
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .scope import Scope

_open: "weakref.WeakSet[Scope]" = weakref.WeakSet()

add = _open.add
discard = _open.discard


def open_scopes() -> "list[Scope]":
    return list(_open)


@contextmanager
def none_watching() -> Iterator[None]:
    """What this package itself passes through the models that this thread trains is not of training."""
    with ExitStack() as paused:
        for scope in open_scopes():
            if scope.trains_here:
                paused.enter_context(scope.pause())
        yield


def _let_go_in_child() -> None:
    """The run is the parent's: a worker's end must not end it."""
    for scope in open_scopes():
        scope.let_go()


os.register_at_fork(after_in_child=_let_go_in_child)
