# SPDX-License-Identifier: Apache-2.0
"""A training loop while it is watched: hooks give the C++ session what passes the down-projections."""

import atexit
import functools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from . import clipping, open_loops, scalers
from .alarms import Alarm
from .backward import backward
from .ending import watch_ending
from .hooks import (
    Hook,
    OwningHook,
    UncompiledHook,
    close_at_exit,
    close_deleted,
    group_of,
    has_hooks,
    is_transformed,
    rate_of,
)
from .later import Numbers
from .layers import table_of
from .passes import Passes
from .record import Record
from .together import Meeting
from .update import Update
from .watched import Watched


class Loop:
    """From the hooks of a model and an optimiser to the session. The model keeps it until it is closed."""

    _closed = True  # until it is made

    def __init__(
        self,
        session: Any,
        watched: Watched,
        optimizer: Any,
        scaler: Any,
        gather: bool,
        on_snapshot: Callable[[dict[str, Any]], None] | None,
        on_alarm: Callable[[Alarm], None] | None,
        notes: list[str],
        meeting: Meeting | None,
    ) -> None:
        # Of the model nothing is kept but by weak references and, while the run is open, by what
        # answers for its curvature.
        model = watched.model
        self._model = weakref.ref(model)
        self._session = session
        self.record = Record(session, on_alarm)
        self._answers = watched.kept
        self.layers = watched.layers
        self._banks = watched.banks
        self._gather = gather
        self._on_snapshot = on_snapshot
        self._meeting = meeting
        self._tried = 0  # updates, also those that a scaler skipped
        self.update = Update(
            model,
            routed=any(bank.experts for bank in self._banks)
            or any(".experts." in layer.name for layer in self.layers),
            discard=session.discard_gradients,
        )
        self._scaler = scaler
        self._passes = Passes(session, watched, self.update, scaler, gather, self.record.say)
        self._handles = [
            watched.called.register_forward_pre_hook(
                OwningHook(self, "see_inputs"), with_kwargs=True
            ),
            watched.called.register_forward_hook(
                UncompiledHook(self, "see_output"), with_kwargs=True
            ),
        ]
        self.calls_step = not has_hooks(optimizer)
        self._optimizer: Callable[[], Any] = lambda: None
        if not self.calls_step:
            self._optimizer = weakref.ref(optimizer)
            self._group = group_of(optimizer, (layer.module for layer in self.layers))
            self._handles += [
                optimizer.register_step_pre_hook(Hook(self, "before_update")),
                optimizer.register_step_post_hook(Hook(self, "after_update")),
            ]
        for note in notes:
            self.record.say(note)
        self._passes.listen(*session.needs())
        self._updated = False
        self.norm = clipping.GradientNorm(model, self.update.roots)
        backward.watch(self.update.roots)
        scalers.step.watch(self)
        clipping.total.watch(self.norm)
        watch_ending()
        self._closed = False
        open_loops.add(self)
        self._at_exit = functools.partial(close_at_exit, weakref.ref(self))
        atexit.register(self._at_exit)

    @property
    def is_open(self) -> bool:
        return not self._closed

    @property
    def run(self) -> str:
        return str(self._session.dir())

    @property
    def trains_here(self) -> bool:
        """Whether this thread trains the model."""
        return self.update.roots.is_here

    def watches(self, model: nn.Module) -> bool:
        return self.is_open and self._model() is model

    def follows(self, optimizer: Any) -> bool:
        return self.is_open and self._optimizer() is optimizer

    def describe(self) -> str:
        return table_of(self.layers, self._banks, self._gather, self.record.notes)

    @contextmanager
    def pause(self) -> Iterator[None]:
        self._passes.paused += 1
        backward.unwatch(self.update.roots)
        try:
            yield
        finally:
            self._passes.paused -= 1
            if not self._passes.paused and self.is_open:
                backward.watch(self.update.roots)

    def close(self, state: str) -> None:
        if self._closed:
            return
        self.let_go()
        if self._meeting is not None:
            self._meeting.leave(self._where())
        if not self._tried and state == "finished":
            self.record.say(
                "no step of the optimizer was seen, so the run is empty: attach() takes the optimizer "
                "whose step() the loop calls",
                aloud=True,
            )
        try:
            self.record.close(state)
        finally:
            self._answers = []
            self._on_snapshot = None
            self.update.next()

    def let_go(self) -> None:
        """From here on nothing is seen."""
        self._closed = True
        open_loops.discard(self)
        backward.unwatch(self.update.roots)
        scalers.step.unwatch(self)
        clipping.total.unwatch(self.norm)
        self._passes.want(False, False)
        for handle in (*self._handles, *self._passes.handles()):
            handle.remove()
        atexit.unregister(self._at_exit)

    def __del__(self) -> None:
        if not self._closed:
            close_deleted(self)

    # What PyTorch calls, in the order of a step.

    def see_inputs(self, model: nn.Module, inputs: Any, kwargs: dict[str, Any]) -> None:
        if (
            self._passes.are_inputs_seen()
            and torch._C._current_graph_task_id() < 0
            and not is_transformed()
        ):
            self.update.roots.look()
            self.update.see_inputs(inputs, kwargs)

    def see_output(
        self, model: nn.Module, inputs: Any, kwargs: dict[str, Any], output: Any
    ) -> None:
        if not self._passes.paused and not is_transformed():
            self.update.see_output(kwargs, output)

    def begin_scaled(self, scaler: Any, unscaled: bool) -> None:
        """A torch.amp.GradScaler is about to step the optimiser, or to skip that.

        unscaled: whether the loop has called its unscale_().
        """
        self._updated = False
        if not unscaled and self.norm.unscale(scaler):
            self.record.say(
                "gradients were clipped while they were multiplied by the scale of the GradScaler: "
                "call scaler.unscale_(optimizer) before clip_grad_norm_()",
                aloud=True,
            )
        if self._scaler is None:  # attach() was not given it
            self._scaler = scaler
            self._passes.scale_by(scaler)
            self._session.skip()  # the gradients of this step were taken as they came

    def end_scaled(self) -> None:
        if self.is_open and not self._updated:
            self._skipped()

    def before_update(
        self, optimizer: torch.optim.Optimizer, given: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        # The optimiser itself is the first of `given`.
        closure = given[1] if len(given) > 1 else named.get("closure")
        if scalers.skips_itself(optimizer):
            return None
        rate = rate_of(optimizer, self._group)
        if closure is None:
            self.end_step(rate)
            return None
        evaluations = 0

        def watched() -> Any:
            # The passes are made in here. A line search makes more of them: the first is the step.
            nonlocal evaluations
            loss = closure()
            evaluations += 1
            if evaluations == 1:
                if not self.update.has_loss and isinstance(loss, Tensor | float):
                    self.update.add_loss(loss, None)
                self.end_step(rate)
            return loss

        if len(given) > 1:
            return (given[0], watched, *given[2:]), named
        return given, {**named, "closure": watched}

    def end_step(self, rate: float) -> None:
        self._updated = True
        self._meet()
        self._tried += 1
        looked = self._passes.features
        self._passes.want(False, False)  # what the probes pass is not of training
        losses, source = self.update.losses(
            1.0 if self._scaler is None else float(self._scaler.get_scale())
        )
        self.record.loss_is_from(source)
        self.update.roots.train_here()
        try:
            emitted = self.record.step(rate, self.update.terms, Numbers(losses, self.norm.value))
        finally:
            self._next()  # a run that had to go on elsewhere raises, once, with the step counted
        if emitted and looked:
            for note in self._passes.measured.left_out():
                self.record.say(note, aloud=True)
        if emitted and self._on_snapshot is not None and self._session.writes():
            self._on_snapshot(self.record.latest())

    def after_update(self, *_: Any) -> None:
        self._next()  # what a line search evaluated after the step is not of the next one
        self._passes.listen(*self._session.needs())

    def _skipped(self) -> None:
        """No update came of the passes since the last one."""
        self._session.skip()
        self._tried += 1
        self.after_update()

    def _next(self) -> None:
        self.update.next()
        self._passes.next()
        self.norm.next()

    def _where(self) -> str:
        return f"at step {self._session.next_step()} of {self._tried} updates that it tried"

    def _meet(self) -> None:
        """Before the processes of a group do something together."""
        if self._meeting is None or not self._session.meets():
            return
        why = self._meeting.hold(self._where())
        if why:
            self._meeting = None
            self._session.leave_group()
            self.record.say(f"nothing is measured together from here on: {why}", aloud=True)
