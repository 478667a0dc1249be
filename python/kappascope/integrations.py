# SPDX-License-Identifier: Apache-2.0
"""Training loops that belong to others: Hugging Face's Trainer."""

import os
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
    """Trainer(..., callbacks=[TrainerCallback(run="runs/mine")]); further options as attach()."""

    def __init__(self, run: str | os.PathLike[str], **options: Any) -> None:
        super().__init__()
        self._run = run
        self._options = options
        self.scope: Scope | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        optimizer = given["optimizer"]
        options = {"steps": state.max_steps, **self._options}
        # Accelerate wraps the optimiser; the one inside calls the hooks.
        optimizer = getattr(optimizer, "optimizer", optimizer)
        self.scope = attach(given["model"], optimizer, self._run, **options)
        if getattr(args, "average_tokens_across_devices", False):
            self.scope._split = args.world_size

    def on_evaluate(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        loss = (given.get("metrics") or {}).get("eval_loss")
        if self.scope is not None and loss is not None:
            self.scope.record("eval_loss", float(loss))

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        if self.scope is not None:
            stopped = state.global_step < state.max_steps
            self.scope.close("interrupted" if stopped else "finished")
