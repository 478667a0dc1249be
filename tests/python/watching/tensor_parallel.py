# SPDX-License-Identifier: Apache-2.0
"""One of two processes under torchrun that share each layer.

tensor_parallel.py FOLDER HOW...: a run in FOLDER for each of block, gather, rows (outputs sharded by
rows) and experts (a bank of experts under fully_shard).
"""

import sys

import kappascope
import torch
import torch.distributed as dist
from processes import STEPS, model_of
from torch import Tensor, nn
from torch.distributed.tensor import Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleOutput,
    RowwiseParallel,
    parallelize_module,
)
from training import Model, batches, loss_of


class Experts(nn.Module):
    """Mixtral's layout; every token goes to both of two experts."""

    def __init__(self) -> None:
        super().__init__()
        self.gate_up_proj = nn.Parameter(torch.randn(2, 16, 6) / 3)
        self.down_proj = nn.Parameter(torch.randn(2, 6, 8) / 3)

    def forward(self, x: Tensor) -> Tensor:
        out = torch.zeros_like(x)
        for expert in range(2):
            gate, up = nn.functional.linear(x, self.gate_up_proj[expert]).chunk(2, dim=-1)
            hidden = nn.functional.silu(gate) * up
            out = out + nn.functional.linear(hidden, self.down_proj[expert])
        return out


def parallelised(how: str) -> Model:
    model = model_of()
    if how == "experts":
        torch.manual_seed(6)
        model.layers[1] = Experts().double()
        if dist.is_initialized():
            from torch.distributed.fsdp import fully_shard

            mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),))
            fully_shard(model.layers[1], mesh=mesh)
            fully_shard(model, mesh=mesh)
        return model
    if how == "alone":
        return model
    mesh = dist.init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("tp",))
    down = RowwiseParallel(output_layouts=Shard(1)) if how == "rows" else RowwiseParallel()
    for layer in model.layers:
        plan = {"gate_proj": ColwiseParallel(), "up_proj": ColwiseParallel(), "down_proj": down}
        parallelize_module(layer, mesh, plan)
        if how == "rows":
            whole = PrepareModuleOutput(output_layouts=Shard(1), desired_output_layouts=replicate())
            parallelize_module(layer, mesh, whole)
    return model


def replicate() -> object:
    from torch.distributed.tensor import Replicate

    return Replicate()


def train(run: str, how: str) -> dict[str, Tensor]:
    """What entered each layer, where one process holds all of it."""
    model = parallelised(how)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    entered: dict[str, list[Tensor]] = {}
    if how == "alone":
        for name, module in model.named_modules():
            if name.endswith("down_proj"):
                kept = entered.setdefault(name, [])
                module.register_forward_pre_hook(lambda _, x, kept=kept: kept.append(x[0].detach()))
    scope = kappascope.attach(
        model, optimizer, run, every=2, window=2, budget=0, steps=STEPS, gather=how == "gather"
    )
    rank = dist.get_rank() if dist.is_initialized() else 0
    with open(f"{run}.{rank}.described", "w") as file:
        file.write(scope.describe())
    for tokens in batches(STEPS, length=6):
        mine = tokens.chunk(2)[rank] if how == "experts" and dist.is_initialized() else tokens
        loss = loss_of(model(mine), mine)
        loss.backward()
        scope.loss(loss)
        optimizer.step()
        optimizer.zero_grad()
    with open(f"{run}.{rank}.described", "a") as file:
        file.write(f"\nat the end\n{scope.describe()}")
    scope.close()
    return {name: torch.cat(kept) for name, kept in entered.items()}


if __name__ == "__main__":
    dist.init_process_group("gloo")
    for how in sys.argv[2:]:
        train(f"{sys.argv[1]}/{how}", how)
    dist.destroy_process_group()
