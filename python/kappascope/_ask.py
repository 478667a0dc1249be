# SPDX-License-Identifier: Apache-2.0
"""What the three questions have in common: from what the user gives to C++ and back."""

from typing import Any

import torch
from torch import Tensor, nn

from ._library import Error, call
from ._losses import PRODUCTS, Batches, Loss, Source, source_of
from ._parameters import Parameters, named_parameters, unchanged
from ._processes import (
    ShardedLoss,
    all_equal,
    answer_for,
    forget,
    group_for_calls,
    is_sharded,
    leads,
    name_of,
    reshard,
    unsynchronised,
)
from ._progress import watcher_of


def ask(
    name: str,
    loss: Loss,
    params: Parameters,
    only: str | None,
    group: Any,
    batches: Batches | None,
    operator: str,
    product: str,
    show: bool,
    total: int,
    **options: Any,
) -> Any:
    if product not in PRODUCTS:
        raise ValueError(f"product must be one of {PRODUCTS}, got {product!r}")
    reshard(params)
    named = named_parameters(params, only)
    sharded = any(map(is_sharded, named.values()))
    own = group_for_calls(group)
    with (
        unchanged(params, named),
        unsynchronised(params),
        source_of(loss, batches, operator) as source,
        watcher_of(show and leads(group), total) as (number, watcher),
    ):
        shapes = {parameter: tensor.shape for parameter, tensor in named.items()}
        if sharded:
            shapes = _answer_sharded(source, params, named, group, own)
        try:
            numbers, status, products, kind = call(
                name,
                source.value,
                source.number,
                source.rows,
                list(named.values()),
                list(named),
                operator,
                source.output_loss,
                product,
                number,
                name_of(own),
                sharded,
                **options,
            )
        except Error:
            if watcher.interrupted:
                raise KeyboardInterrupt from None
            raise
        finally:
            forget(source.number)
    return numbers, status, products, kind, shapes


def _answer_sharded(
    source: Source, params: Parameters, named: dict[str, Tensor], group: Any, own: Any
) -> dict[str, torch.Size]:
    """Answers for the gradients of sharded parameters; the shapes of what this process holds."""
    if not isinstance(params, nn.Module):
        raise ValueError(
            "pass the model that fully_shard was applied to, not its tensors; only= takes some"
        )
    if group is None:
        raise ValueError(
            "call this in every process with group=torch.distributed.group.WORLD: the parameters "
            "are sharded over processes"
        )
    if source.value is not None:
        raise ValueError(
            "pass the loss as a callable: parameters are sharded, and products evaluate it where "
            "they are displaced"
        )
    if not all_equal(len(source.rows), own):
        raise ValueError("the processes have different numbers of batches: each pass needs all")
    sharded = ShardedLoss(source.parts, params, named, group)
    shapes = [shard.shape for shard in sharded.shards()]
    answer_for(source.number, sharded)
    return dict(zip(named, shapes, strict=True))
