# SPDX-License-Identifier: Apache-2.0
"""A function of torch that another one stands for while anybody watches."""

import threading
import weakref
from typing import Any, Generic, TypeVar

_W = TypeVar("_W")


class Replaced(Generic[_W]):
    """`instead`, which calls original(), in the place of owner.name from the first watcher to the last.

    Somebody else may wrap it meanwhile: it is then left where it is, and not put on top of a wrapper
    that calls it.
    """

    def __init__(self, owner: Any, name: str, instead: Any) -> None:
        self._owner, self._name, self._instead = owner, name, instead
        self.original: Any = getattr(owner, name, None)
        self._installed = False
        self._watching: "weakref.WeakSet[_W]" = weakref.WeakSet()
        self._lock = threading.Lock()

    def watchers(self) -> list[_W]:
        with self._lock:
            return list(self._watching)

    def watch(self, watcher: _W) -> None:
        with self._lock:
            self._watching.add(watcher)
            found = getattr(self._owner, self._name, None)
            if found is None or (self._installed and found is not self.original):
                return
            self.original = found
            setattr(self._owner, self._name, self._instead)
            self._installed = True

    def unwatch(self, watcher: _W) -> None:
        with self._lock:
            self._watching.discard(watcher)
            if self._watching or not self._installed:
                return
            if getattr(self._owner, self._name) is self._instead:
                setattr(self._owner, self._name, self.original)
                self._installed = False
