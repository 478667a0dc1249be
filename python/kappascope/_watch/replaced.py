# SPDX-License-Identifier: Apache-2.0
"""A function of torch that another one stands for while anybody watches."""

from typing import Any


class Replaced:
    """`instead`, which calls original(), in the place of owner.name.

    Somebody else may wrap it meanwhile: it is then left where it is, and not put on top of a wrapper
    that calls it.
    """

    def __init__(self, owner: Any, name: str, instead: Any) -> None:
        self._owner, self._name, self._instead = owner, name, instead
        self.original: Any = getattr(owner, name, None)
        self._installed = False

    def install(self) -> None:
        found = getattr(self._owner, self._name, None)
        if found is None or (self._installed and found is not self.original):
            return
        self.original = found
        setattr(self._owner, self._name, self._instead)
        self._installed = True

    def remove(self) -> None:
        if self._installed and getattr(self._owner, self._name) is self._instead:
            setattr(self._owner, self._name, self.original)
            self._installed = False
