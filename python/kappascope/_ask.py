# SPDX-License-Identifier: Apache-2.0
"""What the three questions have in common: from what the user gives to C++ and back."""

from typing import Any

from torch import Tensor, nn

from ._library import Error, call
from ._losses import PRODUCTS, Batches, Loss, Source, source_of
from ._parameters import Parameters, named_parameters, unchanged
from ._processes import (
    ShardedLoss,
    all_equal,
    answer_for,
    group_for_calls,
    is_sharded,
    leads,
    name_of,
    reshard,
    unsynchronised,
)
from ._progress import watcher_of
from ._watch.open_loops import none_watching


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
        none_watching(),
        unchanged(params, named),
        unsynchronised(params),
        source_of(loss, batches, operator) as source,
        watcher_of(show and leads(group), total) as (number, watcher),
    ):
        shapes = {parameter: tensor.shape for parameter, tensor in named.items()}
        if sharded:
            kept = _sharded(source, params, named, group, own)
            answer_for(source.number, kept)
            held = (shard.shape for shard in kept.shards())
            shapes = dict(zip(named, held, strict=True))
        try:
            numbers, status, products, kind, certificate = call(
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
    return numbers, status, products, kind, certificate, shapes


def _sharded(
    source: Source, params: Parameters, named: dict[str, Tensor], group: Any, own: Any
) -> ShardedLoss:
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
    return ShardedLoss(source.parts, params, named, group)
