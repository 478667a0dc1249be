# SPDX-License-Identifier: Apache-2.0
"""Parameters by name, and the state of a model as it was."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import TypeAlias

import torch
from torch import Tensor, nn

Parameters: TypeAlias = nn.Module | Iterable[Tensor] | Iterable[tuple[str, Tensor]]


def named_parameters(params: Parameters, only: str | None = None) -> dict[str, Tensor]:
    """The parameters by name, in the order in which their entries make up a vector.

    only: a glob that their names must match.
    """
    if isinstance(params, Tensor):
        raise ValueError("params must be a module or an iterable of tensors; put one into a list")
    pairs: list[tuple[str, Tensor]]
    if isinstance(params, nn.Module):
        pairs = [(name, p) for name, p in params.named_parameters() if p.requires_grad]
    else:
        pairs = [
            item if isinstance(item, tuple) else (f"#{i}", item) for i, item in enumerate(params)
        ]
    if only is not None and pairs:
        names = [name for name, _ in pairs]
        pairs = [pair for pair in pairs if fnmatchcase(pair[0], only)]
        if not pairs:
            some = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
            raise ValueError(f"no parameter that requires a gradient is called {only}: {some}")
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
