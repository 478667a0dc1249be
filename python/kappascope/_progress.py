# SPDX-License-Identifier: Apache-2.0
"""A long call shows how far it has come, and Ctrl-C ends it between two products."""

import itertools
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

import torch


class Watcher:
    """Called after each product. Ctrl-C once ends the call there; a second time at once."""

    def __init__(self, show: bool, total: int) -> None:
        self.interrupted = False
        self._evaluations = 0
        self._total = total
        self._bar: Any = None
        self._line = False
        if show:
            try:
                from tqdm.auto import tqdm  # type: ignore[import-untyped]

                self._bar = tqdm(total=total, unit="product", leave=False)
            except ImportError:
                self._line = True
        self._before: Any = None

    def __enter__(self) -> "Watcher":
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if before is signal.default_int_handler:  # another one is its owner's
                self._before = before
                signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if self._bar is not None:
            self._bar.close()
        elif self._line:
            print(file=sys.stderr)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True

    def report(self, products: int, converged: int, wanted: int, residual: float) -> bool:
        """products: -1 before each evaluation of the loss that comes before the first of them."""
        if products < 0:
            self._set_up()
            return not self.interrupted
        text = f"{converged} of {wanted} converged, residual {residual:.1e}" if wanted else ""
        if self._bar is not None:
            self._bar.set_postfix_str(text, refresh=False)
            self._bar.update(products - self._bar.n)
        elif self._line:
            line = f"\r{products} of at most {self._total} products {text}"
            print(line, end="", file=sys.stderr, flush=True)
        return not self.interrupted


    def _set_up(self) -> None:
        self._evaluations += 1
        text = f"setting up, evaluation {self._evaluations} of the loss"
        if self._bar is not None:
            self._bar.set_postfix_str(text)
        elif self._line:
            print(f"\r{text}", end="", file=sys.stderr, flush=True)


_watchers: dict[int, Watcher] = {}
_numbers = itertools.count()


@contextmanager
def watcher_of(show: bool, total: int) -> Iterator[tuple[int, Watcher]]:
    """A number for C++, which asks the watcher as long as the context lasts."""
    number = next(_numbers)
    with Watcher(show, total) as watcher:
        _watchers[number] = watcher
        try:
            yield number, watcher
        finally:
            del _watchers[number]


def _progress(watcher: int, products: int, converged: int, wanted: int, residual: float) -> bool:
    return _watchers[watcher].report(products, converged, wanted, residual)


_implementation = torch.library.Library("kappascope", "IMPL")  # type: ignore[no-untyped-call]
_implementation.impl(  # type: ignore[no-untyped-call]
    "progress", _progress, "CompositeExplicitAutograd"
)
