# SPDX-License-Identifier: Apache-2.0
"""Training loops of others (Hugging Face's Trainer), and where snapshots go to."""

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._watch.attach import attach
from ._watch.scope import Scope

if TYPE_CHECKING:

    class _Callback:
        pass

else:
    try:
        from transformers import TrainerCallback as _Callback
    except ImportError:  # the class below then says what is missing

        class _Callback:
            def __init__(self) -> None:
                raise ImportError("TrainerCallback needs the package transformers")


class TrainerCallback(_Callback):
    """Trainer(..., callbacks=[TrainerCallback(run="runs/mine")]); further options as attach().

    Training that goes on from a checkpoint goes on in the run too, unless existing= says otherwise.
    """

    def __init__(self, run: str | os.PathLike[str], **options: Any) -> None:
        super().__init__()
        self._run = run
        self._options = options
        self.scope: Scope | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        options = {
            "steps": state.max_steps,
            "step": state.global_step,
            "existing": "resume" if state.global_step > 0 else "error",
            **self._options,
        }
        if self.scope is not None:  # of a training that ended with an exception
            self.scope.close("interrupted")
        self.scope = attach(given["model"], given["optimizer"], self._run, **options)
        if getattr(args, "average_tokens_across_devices", False):
            self.scope._loop.update.split = args.world_size

    def on_evaluate(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        loss = (given.get("metrics") or {}).get("eval_loss")
        if self.scope is not None and self.scope.is_open and loss is not None:
            self.scope.record("eval_loss", float(loss))

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        if self.scope is not None:
            stopped = state.global_step < state.max_steps
            self.scope.close("interrupted" if stopped else "finished")


def flat(snapshot: dict[str, Any]) -> dict[str, float]:
    """The numbers of a snapshot under one name each, "kappa/sigma/LAYER"; those that are not finite
    are left out, as loggers cannot draw them (the run has them)."""
    out: dict[str, float] = {}
    for name, value in snapshot.items():
        if name == "step":
            continue
        found = value if isinstance(value, dict) else {"": value}
        for layer, number in found.items():
            if math.isfinite(number):
                out[f"{name}/{layer}" if layer else name] = number
    return out


def to_tensorboard(writer: Any) -> Callable[[dict[str, Any]], None]:
    """attach(…, on_snapshot=to_tensorboard(writer)): to a torch.utils.tensorboard.SummaryWriter."""

    def log(snapshot: dict[str, Any]) -> None:
        for name, value in flat(snapshot).items():
            writer.add_scalar(name, value, snapshot["step"])

    return log


def to_wandb(run: Any) -> Callable[[dict[str, Any]], None]:
    """To a Weights & Biases run, by steps of its own ("kappascope/step"): yours may be ahead."""
    run.define_metric("kappascope/step")
    known: set[str] = set()

    def log(snapshot: dict[str, Any]) -> None:
        numbers = flat(snapshot)
        for name in numbers.keys() - known:
            run.define_metric(name, step_metric="kappascope/step")
        known.update(numbers)
        run.log({"kappascope/step": snapshot["step"], **numbers})

    return log


def to_mlflow(run_id: str | None = None) -> Callable[[dict[str, Any]], None]:
    """To the active MLflow run, or that of an id."""
    import mlflow  # type: ignore[import-not-found]

    def log(snapshot: dict[str, Any]) -> None:
        mlflow.log_metrics(flat(snapshot), step=snapshot["step"], run_id=run_id)

    return log
