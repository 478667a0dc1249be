# SPDX-License-Identifier: Apache-2.0
"""The loops that are watched in this process."""

import os
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .loop import Loop

_watched: "weakref.WeakSet[Loop]" = weakref.WeakSet()

add = _watched.add
discard = _watched.discard


def open_loops() -> "list[Loop]":
    return list(_watched)


@contextmanager
def none_watching() -> Iterator[None]:
    """What this package itself passes through the models that this thread trains is not of training."""
    with ExitStack() as paused:
        for loop in open_loops():
            if loop.trains_here:
                paused.enter_context(loop.pause())
        yield


def _let_go_in_child() -> None:
    """The run is the parent's: a worker's end must not end it."""
    for loop in open_loops():
        loop.let_go()


os.register_at_fork(after_in_child=_let_go_in_child)
