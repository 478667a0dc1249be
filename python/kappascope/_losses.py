# SPDX-License-Identifier: Apache-2.0
"""Losses that C++ asks for: kappascope::evaluate(source, batch) is implemented here."""

import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor
from torch.utils.data import RandomSampler

from ._library import Raised

Operator: TypeAlias = Literal["hessian", "ggn", "fisher", "covariance"]
Product: TypeAlias = Literal["automatic", "graph kept", "recomputed", "finite difference"]
PRODUCTS = ("automatic", "graph kept", "recomputed", "finite difference")
OPERATORS = ("hessian", "ggn", "fisher", "covariance")
OUTPUT_LOSSES = ("cross_entropy", "squared")


@dataclass(frozen=True, eq=False)
class Outputs:
    """A network's outputs and the loss that stands on them, for the Gauss-Newton matrix.

    outputs: [..., classes], every leading entry a row, or a callable that gives them; the loss is
    the mean over rows of
    loss: "cross_entropy", -log softmax(outputs)[label], or "squared", ½ ‖outputs - target‖²
    (neither matrix needs the labels); or a callable that gives any other loss of the outputs, a
    scalar: with ignored labels, weights, another reduction. Not with batches.
    """

    outputs: Tensor | Callable[..., Tensor]
    loss: Literal["cross_entropy", "squared"] | Callable[[Tensor], Tensor] = "cross_entropy"

    def __post_init__(self) -> None:
        if not callable(self.loss) and self.loss not in OUTPUT_LOSSES:
            raise ValueError(
                f"Outputs: loss must be one of {OUTPUT_LOSSES} or a callable, got {self.loss!r}"
            )


Loss: TypeAlias = Tensor | Callable[..., Tensor] | Outputs
Batches: TypeAlias = Iterable[Any] | Callable[[], Iterable[Any]]


@dataclass(frozen=True)
class Source:
    """A loss as the operators take it: a value, or a number to ask for."""

    value: Tensor | None
    number: int
    rows: list[int]
    output_loss: str
    """Its name, or the number under which evaluate_on finds it."""
    evaluate: Callable[[int], Tensor] | None = None
    """Of the batch of that number; None where there is a value."""

    def parts(self) -> Iterator[Tensor]:
        """The loss over all batches is their sum."""
        assert self.evaluate is not None
        for batch in range(max(1, len(self.rows))):
            value = self.evaluate(batch)
            yield value * (self.rows[batch] / sum(self.rows)) if self.rows else value


class Answer:
    """What C++ may ask for under a number, as long as somebody keeps this."""

    def __init__(
        self,
        evaluate: Callable[[int], Tensor],
        parameters: Callable[[], Iterable[Tensor]] = tuple,
    ) -> None:
        self.number = next(_numbers)
        self.evaluate = evaluate
        self.parameters = parameters
        _asked[self.number] = self


_asked: "weakref.WeakValueDictionary[int, Answer]" = weakref.WeakValueDictionary()
_asked_on: "weakref.WeakValueDictionary[int, _LossOfOutputs]" = weakref.WeakValueDictionary()
_numbers = itertools.count()


def _evaluate(source: int, batch: int) -> Tensor:
    # Always with gradients: without them other kernels may run, which round differently.
    with torch.enable_grad():
        try:
            return _asked[source].evaluate(batch)
        except RuntimeError as error:
            raise Raised(error) from None


def _evaluate_on(source: int, outputs: Tensor) -> Tensor:
    with torch.enable_grad():
        try:
            return _asked_on[source](outputs)
        except RuntimeError as error:
            raise Raised(error) from None


def _parameters(source: int) -> list[Tensor]:
    return list(_asked[source].parameters())


_implementation = torch.library.Library("kappascope", "IMPL")  # type: ignore[no-untyped-call]
for _name, _function in (
    ("evaluate", _evaluate),
    ("evaluate_on", _evaluate_on),
    ("parameters", _parameters),
):
    _implementation.impl(  # type: ignore[no-untyped-call]
        _name, _function, "CompositeImplicitAutograd"
    )


@contextmanager
def source_of(loss: Loss, batches: Batches | None, operator: str) -> Iterator[Source]:
    """Answers for the loss as long as the context lasts."""
    if operator not in OPERATORS:
        raise ValueError(f"operator must be one of {OPERATORS}, got {operator!r}")
    if (operator == "ggn") != isinstance(loss, Outputs):
        raise ValueError(
            f'operator "{operator}" cannot take {type(loss).__name__} as loss: "ggn", and no '
            'other, needs kappascope.Outputs(outputs, "cross_entropy")'
        )
    output_loss, on_outputs = "", None
    if isinstance(loss, Outputs) and callable(loss.loss):
        if batches is not None:
            raise ValueError("a loss that is a callable of the outputs takes no batches")
        on_outputs = _LossOfOutputs(loss.loss)
        output_loss = str(on_outputs.number)
    elif isinstance(loss, Outputs):
        output_loss = str(loss.loss)
    given = loss.outputs if isinstance(loss, Outputs) else loss
    if isinstance(given, Tensor):
        if batches is not None:
            raise ValueError("batches need a loss that can be called with each: loss(batch)")
        if on_outputs is not None:
            on_outputs.shape = given.shape
        yield Source(_value(given, operator), -1, [], output_loss)
        return
    if not callable(given):
        raise ValueError(f"loss must be a tensor or a callable, got a {type(given).__name__}")
    function: Callable[..., Tensor] = given
    stream = None if batches is None else _Stream(batches)

    def answer(batch: int) -> Tensor:
        value = function() if stream is None else function(stream.batch(batch))
        if not isinstance(value, Tensor):
            raise ValueError(f"the loss must give a tensor, got a {type(value).__name__}")
        if on_outputs is not None:
            on_outputs.shape = value.shape
        return _value(value, operator)

    kept = Answer(answer)
    yield Source(None, kept.number, [] if stream is None else stream.rows(), output_loss, answer)


class _LossOfOutputs:
    """A user's loss of the outputs, as they were before they were made [rows, classes]."""

    def __init__(self, loss: Callable[[Tensor], Tensor]) -> None:
        self.number = next(_numbers)
        self.shape = torch.Size()
        self._loss = loss
        _asked_on[self.number] = self

    def __call__(self, outputs: Tensor) -> Tensor:
        value = self._loss(outputs.reshape(self.shape))
        if not isinstance(value, Tensor):
            raise ValueError(f"the loss must give a tensor, got a {type(value).__name__}")
        return value


def _value(value: Tensor, operator: str) -> Tensor:
    if operator == "ggn" and value.dim() > 2:
        with torch.enable_grad():
            return value.flatten(0, -2)
    return value


class _Stream:
    """Batches by number, asked for in order, again and again; only one is held at a time."""

    def __init__(self, batches: Batches) -> None:
        if isinstance(getattr(batches, "sampler", None), RandomSampler):
            raise ValueError(
                "batches come in another order each time, and the loss must be the same: pass "
                "list(loader), or a DataLoader with shuffle=False"
            )
        if not callable(batches) and isinstance(batches, Iterator):
            batches = list(batches)  # it can be read only once
        self._batches = batches
        self._iterator: Iterator[Any] = iter(())
        self._next = 0
        self._current: Any = None

    def batch(self, number: int) -> Any:
        if self._next > number + 1:
            self._restart()
        while self._next <= number:
            if not self._advance():
                raise ValueError(f"there were more than {self._next} batches at first")
        return self._current

    def rows(self) -> list[int]:
        """Of all batches, by one pass."""
        self._restart()
        rows = []
        while self._advance():
            rows.append(_rows(self._current))
        if not rows:
            raise ValueError("there are no batches")
        return rows

    def _advance(self) -> bool:
        for batch in self._iterator:
            self._current = batch
            self._next += 1
            return True
        return False

    def _restart(self) -> None:
        batches = self._batches
        self._iterator = iter(batches() if callable(batches) else batches)
        self._next = 0


def _rows(batch: Any) -> int:
    """The length of the first tensor in a batch."""
    if isinstance(batch, Tensor) and batch.dim() > 0:
        return batch.shape[0]
    parts: Iterable[Any] = ()
    if isinstance(batch, Mapping):
        parts = batch.values()
    elif isinstance(batch, Sequence) and not isinstance(batch, str):
        parts = batch
    for part in parts:
        if isinstance(part, Tensor) and part.dim() > 0:
            return part.shape[0]
    raise ValueError(
        f"cannot tell the number of rows of a batch of type {type(batch).__name__}: it must be a "
        "tensor [rows, ...], or a sequence or a mapping with one in it"
    )
