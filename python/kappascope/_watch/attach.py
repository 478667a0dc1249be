# SPDX-License-Identifier: Apache-2.0
"""attach(): two lines in a training loop that is there already."""

import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from .experts import find_banks
from .layers import find_layers, notes_on, nothing_found
from .._environment import command, packages
from .._library import Error, call, one_line
from .._optimizers import innermost, why_unknown
from .._parameters import named_parameters
from .._processes import name_of, own_group, reshard
from .alarms import Alarm
from .hooks import has_hooks
from .loop import Loop
from .open_loops import open_loops
from .scope import Scope
from .together import Meeting, all_agree
from .watched import Watched

_PROBES = (*call("layer_probes"), "hessian", "critical_step")


def attach(
    model: nn.Module,
    optimizer: Any,
    run: str | os.PathLike[str],
    *,
    layers: str | list[str] | None = None,
    probes: str | Iterable[str] = _PROBES,
    curvature: Callable[[], Tensor] | None = None,
    every: int = 200,
    window: int = 4,
    budget: float = 0.01,
    rows: int = 4096,
    steps: int | None = None,
    existing: Literal["error", "resume", "new-name"] = "error",
    step: int | None = None,
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
            optimizer.step()
            optimizer.zero_grad()
        scope.close()

    A step ends where optimizer.step() begins, so several backward passes before it are one step
    (divide each loss by their number, as usual). Training gives the same bits with and without.

    The loss of a step is the sum of what backward() was called on and reached the model; where that
    is not one number a pass, scope.loss() tells it. The run's fact "loss" says which. A loss that is
    not known is not stored and raises no alarm.

    optimizer: one that a library wraps (Accelerate, Lightning) is found in it, with its GradScaler.
        Of one that takes no hooks (written by hand; None too) the loop calls scope.step() before
        each update.
    layers: globs of the names of the down-projections; None finds them by what stands beside them.
        scope.describe() lists what was found.
    probes: one or several of the names in the default above: those of a layer, which
        `kappascope train --help probes` explains, and "hessian" and "critical_step" (how much
        longer a step could have been; both need curvature=).
    curvature: gives a scalar loss on a fixed batch; its Hessian is measured in evaluation mode,
        with attention by the kernel that has second derivatives. Of parameters that are sharded
        over processes (fully_shard) it is taken by differences of gradients. For Adam, AdamW,
        RMSprop and SGD of torch.optim also as the optimizer sees it, beside its limit of stability.
    every, window: steps between measurements, and steps that each looks at. Within a budget the
        first are at every/2, every/4 and so on, down to four windows.
    budget: share of the training time that all probes may take together, and at most twice that of
        any 200 steps: a first window waits until training has paid for it, and where a window of all
        layers would take more, layers take turns. (A single layer and a Hessian are measured in one
        piece, at most one in 200 steps then; where `steps` is given, the first Hessian waits for 30 s
        of training, or half of it.) 0: no limit, and what is measured depends on step numbers alone.
    rows: of features that a step keeps of each layer, in whole passes of gradient accumulation: the
        first is always kept, and a later one while there are fewer, so that memory does not grow
        with the number of passes. 0 keeps all. Rows of a shuffled batch are a sample of it; for
        more of them, take more steps into a window.
    steps: of the whole training where known: the last one is measured too.
    existing: what is done where `run` holds a run. "error" raises one, "new-name" writes RUN-2 and
        so on. "resume" goes on in the run, and begins one where there is none, so that a loop can be
        started again with the same words after it was stopped. Series go on at `step`; what the run
        holds of it and of later steps is written again. The fact "resumed" says so. Windows begin
        anew: what the one that was open had seen is lost.
    step: the number of the first update to come, as of the checkpoint that training goes on from.
        None: 0, or the one after the last that a resumed run holds.
    sum_reduced: the loss is a sum over its terms, not a mean.
    scaler: the torch.amp.GradScaler of the loop, where there is one.
    group: the processes that train together, a torch.distributed group; None: all of them. Each
        process calls attach(); together they measure what all of them see, process 0 writes. A
        process may have no down-projection (a stage of a pipeline), and one that attach() refuses is
        refused in all. Where they turn out to be at different steps, or one does not come, nothing
        is measured any more, and an event says why.
    gather: where the features of a layer are sharded over processes (tensor parallel,
        RowwiseParallel), bring them together in the passes that are measured. Else each process
        measures the block of the covariance that it holds, as LAYER[begin:end].
    on_snapshot: called with what was measured: {"step": …, "kappa/sigma": {layer: value}, …}; in
        the process that writes.
    on_alarm: called with each Alarm of a step, before its update, in the process that writes; None
        prints a line to stderr. An alarm is an event of the run too. `kappascope train --help` says
        what each means.

    A down-projection that was found and not measured in the first window is named on stderr and in an
    event, with the reason.

    Raises Error where no down-projection is found, where `run` holds a run, where the model is
    watched already, and where the optimizer trains another one.
    """
    own = own_group(group)

    def prepare() -> Watched:
        wanted = {probes} if isinstance(probes, str) else set(probes)
        if unknown := wanted - set(_PROBES):
            raise ValueError(f"probes must be of {_PROBES}, got {sorted(unknown)}")
        if existing not in ("error", "resume", "new-name"):
            raise ValueError(f'existing must be "error", "resume" or "new-name", got {existing!r}')
        if existing == "error" and os.path.exists(os.path.join(run, "run.sqlite")):
            raise Error(
                f"{os.fspath(run)} already holds a run: name another directory, or pass "
                'existing="new-name" to write the next free name, or existing="resume" to go on in it'
            )
        if not isinstance(model, nn.Module):
            raise TypeError(f"model must be a torch.nn.Module, got {model!r}")
        if not (optimizer is None or callable(getattr(optimizer, "step", None))) or isinstance(
            optimizer, type
        ):
            raise TypeError(
                "optimizer must be one that has a step(), or None where scope.step() is called, got "
                f"{optimizer!r}"
            )
        if step is not None and step < 0:
            raise ValueError(f"step must not be negative, got {step}")
        numbers = {
            "every": float(every),
            "window": float(window),
            "budget": budget,
            **{probe: float(probe in wanted) for probe in _PROBES},
            "last_step": -1.0 if steps is None else float(steps - 1),
            "rows": float(rows),
        }
        inner, called, compiled = _inner(model)
        if not given_apart and optimizer is not None:
            _require_trained_by(optimizer, inner)
        _require_unwatched(inner)
        banks = [] if layers is not None else find_banks(inner)
        watched = Watched(inner, called, compiled, find_layers(inner, layers), banks, numbers)
        reshard(inner)
        if curvature is not None:
            watched.answer(_on_one_device(inner), model, optimizer, curvature, group)
        return watched

    scaler = scaler or getattr(optimizer, "scaler", None)
    # One that a library wraps may hold copies of the parameters.
    given_apart = innermost(optimizer) is not optimizer
    optimizer = innermost(optimizer)

    watched, settled = all_agree(own, prepare, Watched.settings)
    if not any(count for count, _, _ in settled):
        raise nothing_found(watched.model, layers)
    if any(one[1:] != settled[0][1:] for one in settled):
        raise Error("the processes of the group must attach with the same probes, windows and budget")
    told = {
        "label": label or os.path.basename(os.path.normpath(run)),
        "model": type(watched.model).__name__,
        "optimizer": type(optimizer).__name__,
        "command": command(sys.argv),
        "packages": packages(),
        **(facts or {}),
    }
    widths = [layer.width for layer in watched.layers]
    widths += [bank.width for bank in watched.banks for _ in bank.names()]
    trained = [p for p in watched.model.parameters() if p.requires_grad]
    try:
        session = torch.classes.kappascope.Session(
            os.fspath(run),
            existing,
            -1 if step is None else step,
            told,
            ", ".join(sorted({str(p.device) for p in trained})),
            sum(p.numel() for p in trained),
            watched.numbers,
            "sum" if sum_reduced else "mean",
            list(watched.named),
            watched.source,
            watched.sharded,
            name_of(own),
            widths,
        )
    except RuntimeError as error:
        raise Error(one_line(error)) from None
    try:
        notes = notes_on(watched.layers, gather)
        if curvature is not None:
            notes += why_unknown(optimizer, watched.named)
        meeting = None if own is None else Meeting(own)
        return Scope(
            Loop(session, watched, optimizer, scaler, gather, on_snapshot, on_alarm, notes, meeting)
        )
    except BaseException:
        session.close("failed")
        raise


def _inner(model: nn.Module) -> tuple[nn.Module, nn.Module, bool]:
    """The model that a compiler or DistributedDataParallel wraps, the module of these whose hooks are
    in no graph, and whether it is compiled."""
    is_compiled = model._compiled_call_impl is not None
    called: nn.Module | None = None
    while True:
        compiled = getattr(model, "_orig_mod", None)
        if isinstance(compiled, nn.Module):
            torch._dynamo.reset()  # what was compiled before knows nothing of the hooks
            called = model if called is None else called
            model, is_compiled = compiled, True
        elif isinstance(model, nn.parallel.DistributedDataParallel):
            model = model.module
        else:
            return model, model if called is None else called, is_compiled


def _require_trained_by(optimizer: Any, model: nn.Module) -> None:
    groups = getattr(optimizer, "param_groups", None)
    if not has_hooks(optimizer) or not groups:
        return
    trained = {id(p) for group in groups for p in group["params"]}
    if not any(id(p) in trained for p in model.parameters()):
        raise Error(
            f"the {type(optimizer).__name__} trains no parameter of the {type(model).__name__}: "
            "pass the optimizer of this model"
        )


def _require_unwatched(model: nn.Module) -> None:
    for loop in open_loops():
        if loop.watches(model):
            raise Error(f"the model is watched already, by the run {loop.run}: close that scope first")


def _on_one_device(model: nn.Module) -> dict[str, Tensor]:
    """The parameters that a curvature is taken by."""
    devices = sorted({str(p.device) for p in model.parameters() if p.requires_grad})
    if len(devices) > 1:
        spread = " (device_map)" if hasattr(model, "hf_device_map") else ""
        raise Error(
            f"the parameters lie on {', '.join(devices)}{spread}: curvature needs all of them on one "
            "device; leave curvature= out, and the features are measured where they are"
        )
    return named_parameters(model)
