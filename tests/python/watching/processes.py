# SPDX-License-Identifier: Apache-2.0
"""One of several processes under torchrun.

processes.py FOLDER HOW...: a run in FOLDER for each of ddp, fsdp, fsdp_adam (SGD trains the others),
passes (ddp with two passes an update) and dies (ddp whose process 1 dies).
"""

import os
import sys
from contextlib import nullcontext
from typing import Any

import kappascope
import torch
import torch.distributed as dist
from torch import Tensor, nn
from training import Model, batches, loss_of, undropped

STEPS = 4
DIES_BEFORE = 3


def model_of() -> Model:
    """In double, so that the order of sums leaves ten digits and more; without random masks."""
    torch.manual_seed(5)
    return undropped(Model().double())


def wrap(model: Model, how: str) -> nn.Module:
    if how in ("ddp", "passes", "dies"):
        return nn.parallel.DistributedDataParallel(model)
    if how.startswith("fsdp"):
        from torch.distributed.fsdp import fully_shard

        mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
        for layer in model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    return model


def train(run: str, how: str) -> None:
    rank = dist.get_rank() if dist.is_initialized() else 0
    size = dist.get_world_size() if dist.is_initialized() else 1
    passes = 2 if how == "passes" else 1
    model = wrap(model_of(), how)
    kind = torch.optim.Adam if how == "fsdp_adam" else torch.optim.SGD
    optimizer = kind(model.parameters(), lr=1e-2)
    fixed = batches(1)[0].chunk(size)[rank]

    def curvature() -> Tensor:
        return loss_of(model(fixed), fixed)

    told: list[dict[str, Any]] = []
    scope = kappascope.attach(
        model,
        optimizer,
        run,
        every=2,
        window=2,
        budget=0,
        steps=STEPS,
        curvature=curvature,
        on_snapshot=told.append,
    )
    assert scope.run == run, scope.run
    for step, tokens in enumerate(batches(STEPS)):
        if how == "dies" and rank == 1 and step == DIES_BEFORE:
            os._exit(9)
        mine = tokens.chunk(size)[rank]
        for i, part in enumerate(mine.chunk(passes)):
            last = i == passes - 1
            with nullcontext() if last else model.no_sync():
                loss = loss_of(model(part), part) / passes
                loss.backward()
            scope.loss(loss * passes)
        optimizer.step()
        optimizer.zero_grad()
    scope.close()
    assert bool(told) == (rank == 0), told


if __name__ == "__main__":
    dist.init_process_group("gloo")
    for how in sys.argv[2:]:
        train(f"{sys.argv[1]}/{how}", how)
    dist.destroy_process_group()
