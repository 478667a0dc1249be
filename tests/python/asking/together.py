# SPDX-License-Identifier: Apache-2.0
"""One of several processes under torchrun, which ask together.

together.py FOLDER HOW...: for each of ddp, fsdp and hsdp (two replicas), process r writes
FOLDER/HOW.r.
"""

import sys
from typing import Any

import kappascope
import torch
import torch.distributed as dist
from torch import Tensor, nn

EVERY = 30
"""Rows of a process."""


def model_of(dtype: torch.dtype = torch.float64) -> nn.Sequential:
    """Rows that two processes cannot share out evenly."""
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)).to(dtype)


def data_of(rank: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(100 + rank)
    x = torch.randn(EVERY, 6, generator=generator, dtype=torch.float64).to(dtype)
    return x, torch.randint(3, (EVERY,), generator=generator)


def loss_of(model: nn.Module, data: tuple[Tensor, Tensor]) -> Tensor:
    x, labels = data
    return nn.functional.cross_entropy(model(x), labels)


def wrap(model: nn.Sequential, how: str) -> nn.Module:
    if how == "ddp":
        return nn.parallel.DistributedDataParallel(model)
    from torch.distributed.fsdp import fully_shard

    world = dist.get_world_size()
    if how == "hsdp":
        names = ("replicate", "shard")
        mesh = dist.init_device_mesh("cpu", (2, world // 2), mesh_dim_names=names)
    else:
        mesh = dist.init_device_mesh("cpu", (world,))
    fully_shard(model[0], mesh=mesh)
    # Not the default of a root: values that were brought together stay.
    return fully_shard(model, mesh=mesh, reshard_after_forward=False)


def asked(how: str) -> dict[str, Any]:
    rank, world = dist.get_rank(), dist.group.WORLD
    out: dict[str, Any] = {}
    for dtype in (torch.float64, torch.float32):
        model, data = wrap(model_of(dtype), how), data_of(rank, dtype)
        loss_of(model, data).backward()
        gradients = [p.grad for p in model.parameters()]
        before = [_local(p).clone() for p in model.parameters()]
        found = kappascope.spectrum(lambda: loss_of(model, data), model, top=3, group=world)
        out[str(dtype)] = {**found.to_dict(), "vectors": found.eigenvectors}
        assert all(a is p.grad for a, p in zip(gradients, model.parameters(), strict=True))
        after = [_local(p) for p in model.parameters()]
        assert all(map(torch.equal, before, after)), "parameters moved"
        if how == "fsdp" or (how == "hsdp" and rank < 2):
            assert found.named_vector(0)["0.weight"].shape == _local(model[0].weight).shape
    if how == "hsdp":
        return out
    # Batches, of other sizes in each process.
    model, (x, labels) = wrap(model_of(), how), data_of(rank)
    cut = 10 + 5 * rank
    batches = [(x[:cut], labels[:cut]), (x[cut:], labels[cut:])]
    found = kappascope.spectrum(
        lambda batch: loss_of(model, batch), model, batches=batches, top=3, group=world
    )
    out["batches"] = found.to_dict()
    out["trace"] = kappascope.trace(lambda: loss_of(model, data_of(rank)), model, group=world).value
    dense = kappascope.density(
        lambda: loss_of(model, data_of(rank)), model, steps=8, starts=2, group=world
    )
    out["density"] = (dense.trace_lower, dense.trace_upper)
    out["errors"] = errors(model, how)
    return out


def errors(model: nn.Module, how: str) -> dict[str, str]:
    """What is said of a question that has no answer, in every process."""
    rank, world = dist.get_rank(), dist.group.WORLD
    loss = loss_of(model, data_of(rank)) * (float("nan") if rank == 1 else 1.0)
    said: dict[str, str] = {}

    def ask(name: str, *arguments: Any, **options: Any) -> None:
        try:
            kappascope.spectrum(*arguments, **options)
        except (kappascope.Error, ValueError) as error:
            said[name] = str(error)

    factor = float("nan") if rank == 1 else 1.0
    ask("not finite", lambda: factor * loss_of(model, data_of(rank)), model, group=world)
    if how == "fsdp":
        ask("no group", lambda: loss_of(model, data_of(rank)), model)
        ask("tensors", lambda: loss_of(model, data_of(rank)), model.parameters(), group=world)
        ask("value", loss, model, group=world)
        ask("fisher", lambda: loss, model, operator="fisher", group=world)
        ask("batches", lambda b: loss, model, batches=[data_of(0)] * (1 + rank), group=world)
        loss.backward()
    return said


def _local(parameter: Tensor) -> Tensor:
    local = getattr(parameter, "to_local", None)
    return parameter.detach() if local is None else local().detach()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    for how in sys.argv[2:]:
        torch.save(asked(how), f"{sys.argv[1]}/{how}.{dist.get_rank()}")
    dist.barrier()  # a process that leaves early may take the threads of the others' connections along
    dist.destroy_process_group()
