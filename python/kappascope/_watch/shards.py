# SPDX-License-Identifier: Apache-2.0
"""Down-projections whose features are sharded over processes (tensor parallel, RowwiseParallel)."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn


@dataclass(frozen=True)
class Block:
    """The features begin to end - 1 of `of`: what one process holds."""

    begin: int
    end: int
    of: int

    def name(self, layer: str) -> str:
        return f"{layer}[{self.begin}:{self.end}]"


def block_of(module: nn.Module) -> Block | None:
    """The features that this process's part of a linear layer's weight takes in: None for all."""
    weight: Any = getattr(module, "weight", None)
    if not isinstance(module, nn.Linear) or not hasattr(weight, "device_mesh"):
        return None
    return _block(weight, 1)


def seen_of(features: Tensor, gather: bool) -> tuple[Tensor | None, Block | None]:
    """What this process shows of what entered a layer, and which features these are.

    None where another process shows the same rows. `gather`: one process shows all features; the
    call is then collective.
    """
    placed: Any = features.detach()
    if not hasattr(placed, "device_mesh"):
        return placed, None
    last = placed.dim() - 1
    block = _block(placed, last)
    apart = any(placement.is_partial() for placement in placed.placements)
    if apart or (gather and block is not None):
        whole = placed.full_tensor()
        return (whole if placed.device_mesh.get_rank() == _first(placed) else None), None
    copy = any(
        placement.is_replicate() and index > 0
        for placement, index in zip(placed.placements, _place(placed), strict=True)
    )
    return (None if copy else placed.to_local()), block


def plain(gradient: Tensor) -> Tensor:
    """A tensor that knows of no other process."""
    placed: Any = gradient
    if not hasattr(placed, "device_mesh"):
        return gradient
    if any(placement.is_partial() for placement in placed.placements):
        return placed.full_tensor()  # type: ignore[no-any-return]
    return placed.to_local()  # type: ignore[no-any-return]


def of_block(bias: Tensor | None, block: Block | None) -> Tensor | None:
    """The entries of a bias on the features."""
    if bias is None:
        return None
    placed: Any = bias.detach()
    whole: Tensor = placed.full_tensor() if hasattr(placed, "device_mesh") else placed
    return whole if block is None else whole[block.begin : block.end]


def _place(placed: Any) -> list[int]:
    place = placed.device_mesh.get_coordinate()
    assert place is not None, "a tensor of a mesh that this process is not in"
    return list(place)


def _first(placed: Any) -> int:
    return int(placed.device_mesh.mesh.flatten()[0].item())


def _block(placed: Any, dim: int) -> Block | None:
    """As torch.chunk parts `dim` over each dimension of the mesh that shards it."""
    begin, end = 0, int(placed.shape[dim])
    of = end
    for i, placement in enumerate(placed.placements):
        if not placement.is_shard(dim):
            continue
        each = -(-(end - begin) // placed.device_mesh.size(i))
        first = min(begin + _place(placed)[i] * each, end)
        begin, end = first, min(first + each, end)
    return None if end - begin == of else Block(begin, end, of)


def rows_of(tensor: Tensor) -> int:
    return tensor.numel() // max(1, tensor.shape[-1])
