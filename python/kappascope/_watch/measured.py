# SPDX-License-Identifier: Apache-2.0
"""Which of the down-projections that were found have been measured, and why the others were not."""

from collections.abc import Iterator

from .experts import Bank
from .layers import Layer
from .products import WORDS

_NOT_CALLED = "no pass of training called its module or multiplied by its weight"
_NO_PRODUCT = f"no pass of training multiplied by its weight by one of {WORDS}"
_NO_ROW = "no row was given to it"
_NO_BACKWARD = "no backward pass came to its output"


class Measured:
    """Notified of each pass; reports what was not measured after the first window."""

    def __init__(self, layers: list[Layer], banks: list[Bank]) -> None:
        self._layers = layers
        self._banks = banks
        self._reasons: dict[str, str] = {}
        self._seen: set[str] = set()
        self._told = False

    def forward(self, name: str, in_graph: bool) -> None:
        self._reasons[name] = _NO_BACKWARD
        if not in_graph:
            self._seen.add(name)

    def backward(self, name: str) -> None:
        self._seen.add(name)

    def refuse(self, name: str, reason: str) -> None:
        """It passed, and shows nothing here."""
        self._reasons.setdefault(name, reason)

    def elsewhere(self, name: str) -> None:
        """Another process shows the same."""
        self._seen.add(name)

    def left_out(self) -> Iterator[str]:
        """Once: a sentence for each, or for the experts of a bank together."""
        if self._told:
            return
        self._told = True
        for layer in self._layers:
            if layer.name not in self._seen:
                reason = self._reasons.get(layer.name, _NOT_CALLED)
                yield f"{layer.name} was found and is not measured: {reason}"
        for bank in self._banks:
            names = bank.names()
            left = [name for name in names if name not in self._seen]
            none = len(left) == len(names) and not any(name in self._reasons for name in names)
            by_reason: dict[str, list[str]] = {}
            for name in left:
                reason = _NO_PRODUCT if none else self._reasons.get(name, _NO_ROW)
                by_reason.setdefault(reason, []).append(name)
            for reason, some in by_reason.items():
                yield f"{_listed(bank, some)} found and not measured: {reason}"


def _listed(bank: Bank, names: list[str]) -> str:
    if len(names) == 1:
        return f"{names[0]} was"
    if len(names) == bank.experts:
        return f"all {bank.experts} experts of {bank.name} were"
    numbers = ", ".join(name.rpartition(".")[2] for name in names)
    return f"{len(names)} of {bank.experts} experts of {bank.name} ({numbers}) were"
