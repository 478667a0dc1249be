# SPDX-License-Identifier: Apache-2.0
"""Processes that train one model together: what passes between them, and parameters that are sharded
over them (torch's fully_shard)."""

import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from ._library import Error, Raised


def own_group(group: Any) -> Any:
    """A group of the same processes on the host, for what passes between them: None for one.

    Its own, so that nothing gets between the collectives of training.
    """
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size(group) < 2:
        return None
    return dist.new_group(ranks_of(group), backend="gloo", use_local_synchronization=True)


def ranks_of(group: Any) -> list[int]:
    if not (dist.is_available() and dist.is_initialized()):
        return [0]
    return dist.get_process_group_ranks(group or dist.group.WORLD)


def leads(group: Any) -> bool:
    """Whether this process speaks for the group; of None, for itself."""
    return group is None or not dist.is_initialized() or dist.get_rank(group) == 0


_for_calls: dict[int, tuple[Any, Any]] = {}  # a group and its own, by the first one's id


def group_for_calls(group: Any) -> Any:
    """Such a group, the same one each time: of None, None. All processes call this together."""
    if group is None:
        return None
    if id(group) not in _for_calls:
        _for_calls[id(group)] = (group, own_group(group))
    return _for_calls[id(group)][1]


def name_of(own: Any) -> str:
    """What C++ finds it by: "" for one process."""
    return "" if own is None else str(own.group_name)


def all_equal(number: int, own: Any) -> bool:
    """Whether it is the same in every process of the group."""
    if own is None:
        return True
    numbers: list[Any] = [None] * dist.get_world_size(own)
    dist.all_gather_object(numbers, number, group=own)
    return len(set(numbers)) == 1


def unsynchronised(model: Any) -> Any:
    """A context in which DistributedDataParallel waits for no gradient."""
    if isinstance(model, nn.parallel.DistributedDataParallel):
        return model.no_sync()
    return nullcontext()


def reshard(model: Any) -> None:
    """Parts what fully_shard brought together for a pass that has had no backward pass: those whole
    parameters are copies, and their values may be of an earlier moment."""
    fsdp = sys.modules.get("torch.distributed.fsdp")  # who used it has it
    if fsdp is None or not isinstance(model, nn.Module):
        return
    for module in model.modules():
        if isinstance(module, fsdp.FSDPModule):
            module.reshard()


def is_sharded(parameter: Tensor) -> bool:
    return hasattr(parameter, "device_mesh")


def shards_of(named: Mapping[str, Tensor], group: Any) -> dict[str, Tensor]:
    """What this process holds of each parameter, sharing its memory. Of replicas (a mesh that
    replicates and shards, HSDP) the first process holds the entries and the others none.

    Raises Error where the processes of the group do not hold each entry.
    """
    ranks = sorted(ranks_of(group))
    shards = {}
    for name, parameter in named.items():
        mesh = getattr(parameter, "device_mesh", None)
        if mesh is None:
            raise Error(
                f"parameter {name} is whole in each process, and others are sharded over them: "
                "leave it out with only=, or shard it too"
            )
        placements: Any = getattr(parameter, "placements")  # noqa: B009
        if any(placement.is_partial() for placement in placements):
            raise Error(
                f"parameter {name} has the placements {tuple(placements)}: curvature needs its "
                "entries, not terms of their sum"
            )
        if sorted(mesh.mesh.flatten().tolist()) != ranks:
            raise Error(
                f"parameter {name} is sharded over the processes "
                f"{mesh.mesh.flatten().tolist()}, and the group is {ranks}: pass the group that it "
                "is sharded over"
            )
        local = _local(parameter)
        shards[name] = local if _is_first(parameter) else local.flatten()[:0]
    return shards


def _replicated_over(parameter: Any) -> list[int]:
    """The dimensions of its mesh along which processes hold the same."""
    return [
        i
        for i, placement in enumerate(parameter.placements)
        if placement.is_replicate() and parameter.device_mesh.size(i) > 1
    ]


def _is_first(parameter: Any) -> bool:
    place = parameter.device_mesh.get_coordinate()
    return all(place[i] == 0 for i in _replicated_over(parameter))


def _local(tensor: Tensor) -> Tensor:
    with torch.no_grad():
        return tensor.detach().to_local()  # type: ignore[attr-defined, no-any-return]


class ShardedLoss:
    """A loss of sharded parameters. Each process takes every one of its passes, together."""

    def __init__(
        self,
        parts: Callable[[], Iterable[Tensor]],
        model: nn.Module,
        named: Mapping[str, Tensor],
        group: Any,
    ) -> None:
        """parts: the loss is their sum; one is held at a time."""
        self._parts = parts
        self._model = model
        self._named = named
        self._group = group

    def shards(self) -> list[Tensor]:
        return list(shards_of(self._named, self._group).values())

    @contextmanager
    def _with_replicas(self) -> Iterator[None]:
        """The values of the first replica in all of them, and then their own again."""
        replicas = [_local(p) for p in self._named.values() if not _is_first(p)]
        before = [replica.clone() for replica in replicas]
        try:
            for parameter in self._named.values():
                mesh: Any = getattr(parameter, "device_mesh")  # noqa: B009
                for i in _replicated_over(parameter):
                    group = mesh.get_group(i)
                    dist.broadcast(_local(parameter), dist.get_global_rank(group, 0), group=group)
            yield
        finally:
            for replica, own in zip(replicas, before, strict=True):
                replica.copy_(own)

    def gradient(self) -> tuple[Tensor, Tensor]:
        """The loss, with what is left of its graph, and [n] of the gradient's shards, which is of
        the mean over processes, as the model reduces it. Every .grad stays as it was."""
        everything = list(self._model.parameters())
        before = [parameter.grad for parameter in everything]
        total: Tensor | None = None
        try:
            for parameter in everything:
                parameter.grad = None
            with self._with_replicas():
                reshard(self._model)
                for loss in self._parts():
                    if loss.numel() != 1:
                        raise ValueError(f"the loss must be a scalar, got {loss.numel()} values")
                    if not loss.requires_grad:
                        raise ValueError("the loss does not depend on any parameter")
                    loss.backward()  # type: ignore[no-untyped-call]
                    total = loss if total is None else total + loss
            reached = any(parameter.grad is not None for parameter in self._named.values())
            flat = torch.cat([_gradient_of(parameter) for parameter in self._named.values()])
        finally:
            for parameter, gradient in zip(everything, before, strict=True):
                parameter.grad = gradient
        if total is None or not reached:
            raise Error(
                "no gradient came to the sharded parameters: the loss does not depend on them, or "
                "set_requires_gradient_sync(False) is on"
            )
        return total, flat


def _gradient_of(parameter: Any) -> Tensor:
    """[n] of what this process holds (shards_of)."""
    local = _local(parameter)
    if not _is_first(parameter):
        return local.new_empty(0)
    gradient = parameter.grad
    if gradient is None:
        return torch.zeros_like(local).reshape(-1)
    if gradient.placements != parameter.placements:
        raise Error(
            f"a gradient has the placements {tuple(gradient.placements)} and its parameter "
            f"{tuple(parameter.placements)}: it is not the gradient's entries that are held"
        )
    return _local(gradient).reshape(-1)


_asked: "weakref.WeakValueDictionary[int, ShardedLoss]" = weakref.WeakValueDictionary()


def answer_for(source: int, loss: ShardedLoss) -> None:
    """C++ may ask for its gradients under the number of its source, as long as somebody keeps it."""
    _asked[source] = loss


def _shards(source: int) -> list[Tensor]:
    try:
        return _asked[source].shards()
    except RuntimeError as error:
        raise Raised(error) from None


def _gradient(source: int) -> tuple[Tensor, Tensor]:
    with torch.enable_grad():
        try:
            return _asked[source].gradient()
        except RuntimeError as error:
            raise Raised(error) from None


_implementation = torch.library.Library("kappascope", "IMPL")  # type: ignore[no-untyped-call]
for _name, _function in (("shards", _shards), ("gradient", _gradient)):
    _implementation.impl(  # type: ignore[no-untyped-call]
        _name, _function, "CompositeImplicitAutograd"
    )
