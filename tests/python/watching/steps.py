# SPDX-License-Identifier: Apache-2.0
"""One of two processes under torchrun that are not in step, or do not agree.

steps.py FOLDER HOW...: a run in FOLDER for each, and in FOLDER/HOW.RANK what attach() raised or what
was noted. "restarted" dies once in process 1, before its sixth update.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import kappascope
import torch
import torch.distributed as dist
from kappascope._watch import together
from torch import nn
from training import Model, batches, loss_of

STEPS = 6
together.PATIENCE = 30.0  # which a busy machine must not reach


def note(folder: str, how: str, text: str) -> None:
    with open(f"{folder}/{how}.{dist.get_rank()}", "w") as file:
        file.write(text)


def attach(folder: str, how: str, model: nn.Module, **options: Any) -> Any:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    given = {"every": 2, "window": 2, "budget": 0, "steps": STEPS, **options}
    return kappascope.attach(model, optimizer, f"{folder}/{how}", **given), optimizer


def one_update(model: Any, optimizer: Any, scope: Any, step: int) -> None:
    tokens = batches(STEPS)[step].chunk(2)[dist.get_rank()]
    loss = loss_of(model(tokens), tokens)
    loss.backward()
    scope.loss(loss)
    optimizer.step()
    optimizer.zero_grad()


class Plain(nn.Module):
    """A stage that has no down-projection."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.head = nn.Embedding(20, 6), nn.Linear(6, 20)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.head(self.table(tokens))
        return out


def stages(plain: int) -> Callable[[str, str], None]:
    """Process `plain` has no down-projection."""

    def run(folder: str, how: str) -> None:
        model = Plain() if dist.get_rank() == plain else Model()
        scope, optimizer = attach(folder, how, model)
        for step in range(STEPS):
            one_update(model, optimizer, scope, step)
        scope.close()

    return run


def refused(make: Callable[[int], nn.Module], options: Callable[[int], dict[str, Any]]) -> Any:
    def run(folder: str, how: str) -> None:
        rank = dist.get_rank()
        try:
            attach(folder, how, make(rank), **options(rank))
            note(folder, how, "nothing")
        except (kappascope.Error, ValueError, TypeError) as error:
            note(folder, how, f"{type(error).__name__}: {error}")

    return run


def loop(skips: Callable[[Any, Any, Any, int], bool]) -> Callable[[str, str], None]:
    """In process 1 `skips` may do something else in place of an update."""

    def run(folder: str, how: str) -> None:
        model = Model()
        scope, optimizer = attach(folder, how, model)
        for step in range(STEPS):
            if not (dist.get_rank() == 1 and skips(model, optimizer, scope, step)):
                one_update(model, optimizer, scope, step)
        note(folder, how, scope.describe())
        scope.close()
        dist.barrier()

    return run


def nothing_at_step_2(model: Any, optimizer: Any, scope: Any, step: int) -> bool:
    return step == 2


def no_backward_at_step_2(model: Any, optimizer: Any, scope: Any, step: int) -> bool:
    """It updates all the same, by no gradient: its step has no rows."""
    if step == 2:
        optimizer.step()
    return step == 2


def ends_at_step_3(model: Any, optimizer: Any, scope: Any, step: int) -> bool:
    if step == 3:
        with suppress(ZeroDivisionError), scope:
            raise ZeroDivisionError
    return step >= 3


def overflows(folder: str, how: str) -> None:
    """The scaler of process 1 alone skips an update."""
    model = Model()
    scaler = torch.amp.GradScaler("cpu")
    scope, optimizer = attach(folder, how, model, scaler=scaler)
    for step in range(STEPS):
        tokens = batches(STEPS)[step].chunk(2)[dist.get_rank()]
        scaler.scale(loss_of(model(tokens), tokens)).backward()
        if step == 2 and dist.get_rank() == 1:
            model.head.weight.grad[0, 0] = float("inf")
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    note(folder, how, scope.describe())
    scope.close()
    dist.barrier()


def in_step(folder: str, how: str) -> None:
    """Training has a collective in each pass, and process 1 leaves out an update by hand: the other
    waits at its window's end while this one waits in training."""
    model = Model()
    scope, optimizer = attach(folder, how, model)
    together.PATIENCE = 3.0  # waited out here; no case of this launch comes after it
    for step in range(STEPS):
        tokens = batches(STEPS)[step].chunk(2)[dist.get_rank()]
        loss = loss_of(model(tokens), tokens)
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        scope.loss(loss)
        if not (dist.get_rank() == 1 and step == 1):
            optimizer.step()
        optimizer.zero_grad()
    note(folder, how, scope.describe())
    scope.close()


def restarted(folder: str, how: str) -> None:
    """Goes on from the checkpoint of every second update."""
    model = Model()
    file = f"{folder}/{how}.checkpoint"
    first = 0
    if os.path.exists(file):
        saved = torch.load(file)
        first = saved["step"]
        model.load_state_dict(saved["model"])
    scope, optimizer = attach(folder, how, model, existing="resume", step=first)
    for step in range(first, STEPS):
        if step == 5 and first == 0 and dist.get_rank() == 1:
            os._exit(9)
        one_update(model, optimizer, scope, step)
        dist.barrier()
        if (step + 1) % 4 == 0 and dist.get_rank() == 0:
            torch.save({"step": step + 1, "model": model.state_dict()}, file)
    scope.close()


HOW: dict[str, Callable[[str, str], None]] = {
    "first": stages(plain=0),
    "second": stages(plain=1),
    "none": refused(lambda _: Plain(), lambda _: {}),
    "pattern": refused(lambda _: Plain(), lambda rank: {"layers": "x"}),
    "probes": refused(lambda _: Model(), lambda rank: {"probes": ["nothing"]} if rank else {}),
    "type": refused(lambda _: Model(), lambda rank: {"every": "often"} if rank == 0 else {}),
    "differs": refused(lambda _: Model(), lambda rank: {"every": 2 + rank}),
    "skips": loop(nothing_at_step_2),
    "empty": loop(no_backward_at_step_2),
    "ends": loop(ends_at_step_3),
    "overflows": overflows,
    "in_step": in_step,
    "restarted": restarted,
}

if __name__ == "__main__":
    dist.init_process_group("gloo")
    for name in sys.argv[2:]:
        torch.manual_seed(4)
        HOW[name](sys.argv[1], name)
    dist.destroy_process_group()
