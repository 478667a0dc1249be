# SPDX-License-Identifier: Apache-2.0
"""attach(): two lines in a training loop that is there already."""

import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from .experts import find_banks
from .layers import find_layers, notes_on
from .._library import Error, one_line
from .._losses import answer_from_now_on
from .._optimizers import see_from_now_on, why_unknown
from .._parameters import named_parameters
from .._processes import (
    ShardedLoss,
    answer_for,
    is_sharded,
    name_of,
    own_group,
    reshard,
    unsynchronised,
)
from .alarms import Alarm
from .scope import Scope

# They share the budget.
_PROBES = ("features", "intercept", "gradient_variance", "hessian")


def attach(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    run: str | os.PathLike[str],
    *,
    layers: str | list[str] | None = None,
    probes: Iterable[str] = _PROBES,
    curvature: Callable[[], Tensor] | None = None,
    every: int = 200,
    window: int = 4,
    budget: float = 0.01,
    steps: int | None = None,
    new_name: bool = False,
    label: str | None = None,
    facts: dict[str, str] | None = None,
    sum_reduced: bool = False,
    scaler: Any = None,
    group: Any = None,
    gather: bool = False,
    on_snapshot: Callable[[dict[str, Any]], None] | None = None,
    on_alarm: Callable[[Alarm], None] | None = None,
) -> Scope:
    """Watches the training of `model` by `optimizer` and writes the run directory `run`.

        scope = kappascope.attach(model, optimizer, run="runs/mine")
        for batch in loader:
            loss = model(**batch).loss
            loss.backward()
            scope.loss(loss)
            optimizer.step()
            optimizer.zero_grad()
        scope.close()

    A step ends where optimizer.step() begins, so several backward passes before it are one step
    (divide each loss by their number, as usual). Training gives the same bits with and without.

    layers: globs of the names of the down-projections; None finds them by what stands beside them.
        scope.describe() tells what was found.
    probes: which of "features" (moments and condition numbers), "intercept" (what a post-gating
        bias has taken up), "gradient_variance" (Lemma 2) and "hessian" (needs curvature=).
    curvature: gives a scalar loss on a fixed batch; its Hessian is measured in evaluation mode,
        with attention by the kernel that has second derivatives. Of parameters that are sharded
        over processes (fully_shard) it is taken by differences of gradients. For Adam, AdamW,
        RMSprop and SGD of torch.optim also as the optimizer sees it, beside its limit of stability.
    every, window: steps between measurements, and steps that each looks at.
    budget: share of the training time that all probes may take together, and at most twice that of
        any 200 steps after the first window: where a window of all layers would take more, layers
        take turns. (A single layer and a Hessian are measured in one piece, at most one in 200
        steps then.) 0: no limit, and what is measured depends on step numbers alone.
    steps: of the whole training where known: the last one is measured too.
    new_name: where `run` holds a run, write RUN-2 and so on; else that is an Error.
    sum_reduced: the loss is a sum over its terms, not a mean.
    scaler: the torch.amp.GradScaler of the loop, where there is one.
    group: the processes that train together, a torch.distributed group; None: all of them. Each
        process calls attach(); together they measure what all of them see, process 0 writes.
    gather: where the features of a layer are sharded over processes (tensor parallel,
        RowwiseParallel), bring them together in the passes that are measured. Else each process
        measures the block of the covariance that it holds, as LAYER[begin:end].
    on_snapshot: called with what was measured: {"step": …, "kappa/sigma": {layer: value}, …}; in
        the process that writes.
    on_alarm: called with each Alarm of a step, before its update, in the process that writes; None
        prints a line to stderr. An alarm is an event of the run too. That of the gradient's norm
        needs scope.gradient_norm(). `kappascope train --help` says what each means.

    Raises Error where no down-projection is found, and where `run` holds a run.
    """
    wanted = set(probes)
    if unknown := wanted - set(_PROBES):
        raise ValueError(f"probes must be of {_PROBES}, got {sorted(unknown)}")
    inner = _inner(model)
    banks = [] if layers is not None else find_banks(inner)
    found = find_layers(inner, layers, elsewhere=bool(banks))
    reshard(inner)
    named = named_parameters(inner)
    numbers = {
        "every": float(every),
        "window": float(window),
        "budget": budget / len(_PROBES),
        "hessian_budget": budget / len(_PROBES),
        **{probe: float(probe in wanted) for probe in _PROBES},
        "last_step": -1.0 if steps is None else float(steps - 1),
    }
    told = {
        "label": label or os.path.basename(os.path.normpath(run)),
        "model": type(inner).__name__,
        "optimizer": type(optimizer).__name__,
        "command": " ".join(sys.argv),
        **(facts or {}),
    }
    source = -1
    sharded = any(map(is_sharded, named.values()))
    if curvature is not None:
        evaluate = _evaluation(model, inner, curvature)
        source = answer_from_now_on(evaluate)
        see_from_now_on(source, optimizer, named)
        if sharded:
            loss = ShardedLoss(lambda: [evaluate()], inner, named, group)
            loss.shards()  # what is not sharded over these processes is said now
            answer_for(source, loss)
    try:
        session = torch.classes.kappascope.Session(
            os.fspath(run),
            new_name,
            told,
            numbers,
            "sum" if sum_reduced else "mean",
            list(named),
            list(named.values()),
            source,
            sharded,
            name_of(own_group(group)),
        )
    except RuntimeError as error:
        raise Error(one_line(error)) from None
    notes = notes_on(found, gather)
    if curvature is not None:
        notes += why_unknown(optimizer, named)
    return Scope(
        session, inner, optimizer, found, banks, scaler, gather, on_snapshot, on_alarm, notes
    )


def _inner(model: nn.Module) -> nn.Module:
    """The model that a compiler or DistributedDataParallel wraps."""
    while True:
        compiled = getattr(model, "_orig_mod", None)
        if isinstance(compiled, nn.Module):
            torch._dynamo.reset()  # what was compiled before knows nothing of the hooks
            model = compiled
        elif isinstance(model, nn.parallel.DistributedDataParallel):
            model = model.module
        else:
            return model


def _evaluation(
    model: nn.Module, inner: nn.Module, loss: Callable[[], Tensor]
) -> Callable[[], Tensor]:
    def evaluate() -> Tensor:
        modes = [(module, module.training) for module in inner.modules()]
        inner.eval()
        try:
            with (
                unsynchronised(model),
                sdpa_kernel(SDPBackend.MATH),
                torch.compiler.set_stance("force_eager"),
            ):
                return loss()
        finally:
            for module, training in modes:
                module.training = training

    return evaluate
