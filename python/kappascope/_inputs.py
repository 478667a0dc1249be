# SPDX-License-Identifier: Apache-2.0
"""From what a person has (a loss, a model, batches) to what the operators take."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn

from ._library import Error

Operator: TypeAlias = Literal["hessian", "ggn", "fisher", "covariance"]
OPERATORS = ("hessian", "ggn", "fisher", "covariance")
OUTPUT_LOSSES = ("cross_entropy", "squared")


@dataclass(frozen=True, eq=False)
class Outputs:
    """A network's outputs and the loss that stands on them, for the Gauss-Newton matrix.

    outputs: [..., classes], every leading entry a row; the loss is the mean over rows of
    loss: "cross_entropy", -log softmax(outputs)[label], or "squared", ½ ‖outputs - target‖²
    (neither matrix needs the labels).
    """

    outputs: Tensor
    loss: Literal["cross_entropy", "squared"] = "cross_entropy"

    def __post_init__(self) -> None:
        if self.loss not in OUTPUT_LOSSES:
            raise ValueError(f"Outputs: loss must be one of {OUTPUT_LOSSES}, got {self.loss!r}")
        if self.outputs.dim() < 2:
            raise ValueError(
                f"Outputs need [..., classes], got the shape {tuple(self.outputs.shape)}"
            )


Value: TypeAlias = Tensor | Outputs
Loss: TypeAlias = Value | Callable[..., Value]
Parameters: TypeAlias = nn.Module | Iterable[Tensor] | Iterable[tuple[str, Tensor]]
Batches: TypeAlias = Iterable[Any] | Callable[[], Iterable[Any]]


def named_parameters(params: Parameters) -> dict[str, Tensor]:
    """The parameters by name, in the order in which their entries make up a vector."""
    if isinstance(params, Tensor):
        raise ValueError("params must be a module or an iterable of tensors; put one into a list")
    pairs: list[tuple[str, Tensor]]
    if isinstance(params, nn.Module):
        pairs = [(name, p) for name, p in params.named_parameters() if p.requires_grad]
    else:
        pairs = [
            item if isinstance(item, tuple) else (f"#{i}", item) for i, item in enumerate(params)
        ]
    if not pairs:
        raise ValueError("there is no parameter that requires a gradient in params")
    seen: dict[int, str] = {}
    for name, tensor in pairs:
        if not isinstance(tensor, Tensor):
            raise ValueError(f"parameter {name} is a {type(tensor).__name__}, not a tensor")
        if not tensor.is_floating_point():
            raise ValueError(
                f"parameter {name} is {tensor.dtype}: only real numbers have curvature"
            )
        if not tensor.requires_grad:
            raise ValueError(f"parameter {name} does not require a gradient: leave it out")
        if tensor.device != pairs[0][1].device:
            raise ValueError(
                f"parameters lie on {pairs[0][1].device} ({pairs[0][0]}) and on {tensor.device} "
                f"({name}): one device is needed"
            )
        if id(tensor) in seen:
            raise ValueError(
                f"parameters {seen[id(tensor)]} and {name} are one tensor: give it once"
            )
        seen[id(tensor)] = name
    named = dict(pairs)
    if len(named) < len(pairs):
        raise ValueError("two parameters have the same name")
    return named


@contextmanager
def unchanged(params: Parameters, named: Mapping[str, Tensor]) -> Iterator[None]:
    """Puts back what evaluating a loss may change: random states, and a module's buffers."""
    buffers = list(params.buffers()) if isinstance(params, nn.Module) else []
    before = [buffer.detach().clone() for buffer in buffers]
    devices = {tensor.device for tensor in named.values() if tensor.is_cuda}
    with torch.random.fork_rng(devices=list(devices)):
        try:
            yield
        finally:
            with torch.no_grad():
                for buffer, value in zip(buffers, before, strict=True):
                    if not torch.equal(buffer, value):
                        buffer.copy_(value)


def value_of(loss: Loss, batches: Batches | None, operator: str) -> tuple[Tensor, str]:
    """The tensor to differentiate, and which loss stands on it ("" where it is one itself).

    Over batches: the mean of losses weighted by rows, or all rows one after another.
    """
    if operator not in OPERATORS:
        raise ValueError(f"operator must be one of {OPERATORS}, got {operator!r}")
    if isinstance(loss, Tensor | Outputs):
        if batches is not None:
            raise ValueError("batches need a loss that can be called with each: loss(batch)")
        return _checked(loss, operator)
    if not callable(loss):
        raise ValueError(f"loss must be a tensor, Outputs or a callable, got {type(loss).__name__}")
    if batches is None:
        return _evaluate(loss, (), operator)
    parts: list[tuple[Tensor, str]] = []
    rows: list[int] = []
    for batch in batches() if callable(batches) else batches:
        parts.append(_evaluate(loss, (batch,), operator))
        rows.append(_rows(batch))
    if not parts or sum(rows) == 0:
        raise ValueError("there are no batches, or there are no rows in them")
    values = [value for value, _ in parts]
    if operator != "hessian":
        return torch.cat(values), parts[0][1]
    with torch.enable_grad():
        whole = torch.stack([value * count for value, count in zip(values, rows, strict=True)])
        return whole.sum() / sum(rows), ""


def _evaluate(
    loss: Callable[..., Value], arguments: tuple[Any, ...], operator: str
) -> tuple[Tensor, str]:
    # Both with gradients: without them other kernels may run, which round differently.
    with torch.enable_grad():
        first = _checked(loss(*arguments), operator)[0].detach().clone()
        value, output_loss = _checked(loss(*arguments), operator)
    tolerance = 32 * torch.finfo(value.dtype).eps
    if first.shape != value.shape or not torch.allclose(
        first, value.detach(), rtol=tolerance, atol=tolerance * _scale(first), equal_nan=True
    ):
        raise Error(
            f"the loss is not deterministic (two evaluations gave {_summed(first):.9g} and "
            f"{_summed(value):.9g}): switch dropout off or freeze its masks, and use fixed batches"
        )
    return value, output_loss


def _checked(value: Value, operator: str) -> tuple[Tensor, str]:
    if operator == "ggn":
        if not isinstance(value, Outputs):
            raise ValueError(
                'operator "ggn" needs kappascope.Outputs(outputs, loss="cross_entropy") as loss, '
                "or a callable that returns one"
            )
        with torch.enable_grad():
            return value.outputs.flatten(0, -2), value.loss
    if not isinstance(value, Tensor):
        raise ValueError(
            f'operator "{operator}" needs a tensor as loss, got {type(value).__name__}'
        )
    if operator == "hessian" and value.numel() != 1:
        raise ValueError(f"the loss must be a scalar, got the shape {tuple(value.shape)}")
    if operator != "hessian" and value.dim() != 1:
        raise ValueError(
            f'operator "{operator}" needs one loss a row, [rows], got {tuple(value.shape)}'
        )
    return value, ""


def _scale(values: Tensor) -> float:
    finite = values[values.isfinite()]
    return float(finite.abs().max()) if finite.numel() else 0.0


def _summed(values: Tensor) -> float:
    return float(values.detach().double().sum())


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
