# SPDX-License-Identifier: Apache-2.0
"""Watches a training loop: hooks give the C++ session what passes the down-projections."""

import atexit
import functools
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn

from . import clipping, open_scopes, scalers
from .alarms import Alarm, alarms_of, print_alarm
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
from .layers import Layer, table_of
from .._library import Error, one_line
from .passes import Passes
from .together import Meeting
from .update import Update
from .watched import Watched


class Scope:
    """What attach() gives. Use it as a context, or call close() at the end. The model keeps it until
    then.

    record() and flush() may be called from any thread, the rest from that which trains. In a
    process forked from this one a scope sees nothing and closes nothing. One that is left open
    when Python ends says how that was: finished, failed (an exception, sys.exit with a status) or
    interrupted (Ctrl-C).
    """

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
        self._answers = watched.kept
        self._layers = watched.layers
        self._banks = watched.banks
        self._gather = gather
        self._notes: list[str] = []
        self._on_snapshot = on_snapshot
        self._on_alarm = on_alarm or print_alarm
        self._meeting = meeting
        self._tried = 0  # updates, also those that a scaler skipped
        self._update = Update(
            model,
            routed=any(bank.experts for bank in self._banks)
            or any(".experts." in layer.name for layer in self._layers),
            discard=session.discard_gradients,
        )
        self._said: set[str] = set()
        self._loss_source = ""
        self._scaler = scaler
        self._passes = Passes(session, watched, self._update, scaler, gather, self._say)
        self._handles = [
            watched.called.register_forward_pre_hook(
                OwningHook(self, "_see_inputs"), with_kwargs=True
            ),
            watched.called.register_forward_hook(
                UncompiledHook(self, "_see_output"), with_kwargs=True
            ),
        ]
        self._calls_step = not has_hooks(optimizer)
        self._optimizer: Callable[[], Any] = lambda: None
        if not self._calls_step:
            self._optimizer = weakref.ref(optimizer)
            self._group = group_of(optimizer, (layer.module for layer in self._layers))
            self._handles += [
                optimizer.register_step_pre_hook(Hook(self, "_before_update")),
                optimizer.register_step_post_hook(Hook(self, "_after_update")),
            ]
        for note in notes:
            self._say(note)
        self._passes.listen(*session.needs())
        self._updated = False
        self._norm = clipping.GradientNorm(model, self._update.roots)
        self._waiting: deque[Numbers] = deque()  # of steps that the session began
        backward.watch(self._update.roots)
        scalers.step.watch(self)
        clipping.total.watch(self._norm)
        watch_ending()
        self._closed = False
        open_scopes.add(self)
        self._at_exit = functools.partial(close_at_exit, weakref.ref(self))
        atexit.register(self._at_exit)

    # What the user calls.

    def loss(self, loss: Tensor | float, terms: int | None = None) -> None:
        """The loss of one backward pass; several of them before an update are averaged.

        Needed only where backward() is not called on the loss itself: what it is called on is
        found, and the sum of several passes is the loss of an update.

        terms: how many terms (tokens with a label) the update's loss is the mean over, where the
            forward pass did not say so by labels= and these are not all tokens.
        """
        self._update.add_loss(loss, terms)

    def step(self, learning_rate: float = float("nan")) -> None:
        """What a loop calls just before the update of an optimiser that takes no hooks (one written
        by hand, which is no torch.optim.Optimizer)."""
        if not self._calls_step:
            raise Error("the optimizer's own step() is seen: scope.step() would count it twice")
        self._end_step(learning_rate)
        self._after_update()

    def gradient_norm(self, norm: Tensor | float) -> None:
        """The norm of all gradients of this update.

        Needed only where torch.nn.utils.clip_grad_norm_() is not called on all of the model: that
        which it computes is found. A run with norms is warned of their spikes.
        """
        self._norm.tell(norm)

    def record(self, name: str, value: float, layer: str = "") -> None:
        """A number of your own of the last step: it is called user/NAME.

        Of several processes, what process 0 records is written.
        """
        self._call("record", name if name.startswith("user/") else f"user/{name}", layer, value)

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Passes with gradients in here are not of training (an attack, an influence function)."""
        self._passes.paused += 1
        backward.unwatch(self._update.roots)
        try:
            yield
        finally:
            self._passes.paused -= 1
            if not self._passes.paused and self.is_open:
                backward.watch(self._update.roots)

    @property
    def is_open(self) -> bool:
        return not self._closed

    @property
    def run(self) -> str:
        """The directory of the run."""
        return str(self._session.dir())

    @property
    def layers(self) -> list[Layer]:
        return list(self._layers)

    def describe(self) -> str:
        """A table of the layers that are watched, and what was not understood."""
        return table_of(self._layers, self._banks, self._gather, self._notes)

    def flush(self) -> None:
        """Writes what is pending; it is written once a second, and with every snapshot, anyway."""
        if self.trains_here:
            self._complete(wait=True)
        self._call("flush")

    def close(self, state: Literal["finished", "interrupted", "failed"] = "finished") -> None:
        """Takes the hooks away, writes the rest and lets go of the model. A second call does
        nothing; run, layers, latest() and describe() still answer."""
        if self._closed:
            return
        self.let_go()
        if self._meeting is not None:
            self._meeting.leave(self._where())
        if not self._tried and state == "finished":
            self._say(
                "no step of the optimizer was seen, so the run is empty: attach() takes the optimizer "
                "whose step() the loop calls",
                aloud=True,
            )
        try:
            try:
                self._complete(wait=True)
            finally:
                self._call("close", state)
        finally:
            self._waiting.clear()
            self._answers = []
            self._on_snapshot, self._on_alarm = None, print_alarm
            self._update.next()

    @property
    def trains_here(self) -> bool:
        """Whether this thread trains the model."""
        return self._update.roots.is_here

    def watches(self, model: nn.Module) -> bool:
        return self.is_open and self._model() is model

    def let_go(self) -> None:
        """From here on nothing is seen."""
        self._closed = True
        open_scopes.discard(self)
        backward.unwatch(self._update.roots)
        scalers.step.unwatch(self)
        clipping.total.unwatch(self._norm)
        self._passes.want(False, False)
        for handle in (*self._handles, *self._passes.handles()):
            handle.remove()
        atexit.unregister(self._at_exit)

    def __del__(self) -> None:
        if not self._closed:
            close_deleted(self)

    def __enter__(self) -> "Scope":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, *_: object
    ) -> None:
        if kind is None or (isinstance(raised, SystemExit) and not raised.code):
            self.close()
        else:
            self.close("interrupted" if issubclass(kind, KeyboardInterrupt) else "failed")

    # What PyTorch calls.

    def _see_inputs(self, model: nn.Module, inputs: Any, kwargs: dict[str, Any]) -> None:
        if (
            self._passes.are_seen()
            and torch._C._current_graph_task_id() < 0
            and not is_transformed()
        ):
            self._update.roots.look()
            self._update.see_inputs(inputs, kwargs)

    def _see_output(
        self, model: nn.Module, inputs: Any, kwargs: dict[str, Any], output: Any
    ) -> None:
        if not self._passes.paused and not is_transformed():
            self._update.see_output(kwargs, output)

    def _before_update(
        self, optimizer: torch.optim.Optimizer, given: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        # The optimiser itself is the first of `given`.
        closure = given[1] if len(given) > 1 else named.get("closure")
        if scalers.skips_itself(optimizer):
            return None
        rate = rate_of(optimizer, self._group)
        if closure is None:
            self._end_step(rate)
            return None
        evaluations = 0

        def watched() -> Any:
            # The passes are made in here. A line search makes more of them: the first is the step.
            nonlocal evaluations
            loss = closure()
            evaluations += 1
            if evaluations == 1:
                if not self._update.has_loss and isinstance(loss, Tensor | float):
                    self.loss(loss)
                self._end_step(rate)
            return loss

        if len(given) > 1:
            return (given[0], watched, *given[2:]), named
        return given, {**named, "closure": watched}

    def follows(self, optimizer: Any) -> bool:
        return self.is_open and self._optimizer() is optimizer

    def begin_scaled(self, scaler: Any, unscaled: bool) -> None:
        """A torch.amp.GradScaler is about to step the optimiser, or to skip that.

        unscaled: whether the loop has called its unscale_().
        """
        self._updated = False
        if not unscaled and self._norm.unscale(scaler):
            self._say(
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

    def _end_step(self, rate: float) -> None:
        self._updated = True
        self._meet()
        self._tried += 1
        looked = self._passes.features
        self._passes.want(False, False)  # what the probes pass is not of training
        losses, source = self._update.losses(
            1.0 if self._scaler is None else float(self._scaler.get_scale())
        )
        self._record_source(source)
        self._update.roots.train_here()
        numbers = Numbers(losses, self._norm.value)
        try:
            emitted = self._call("begin_step", rate, self._update.terms)
            self._waiting.append(numbers)
            self._complete(wait=emitted)
        finally:
            self._next()  # a run that had to go on elsewhere raises, once, with the step counted
        if emitted and looked:
            for note in self._passes.measured.left_out():
                self._say(note, aloud=True)
        if emitted and self._on_snapshot is not None and self._session.writes():
            self._on_snapshot(self.latest())

    def _complete(self, wait: bool) -> None:
        """The steps whose numbers are there, or all."""
        while self._waiting and (wait or self._waiting[0].are_there()):
            if self._call("complete_step", *self._waiting.popleft().get()):
                for alarm in alarms_of(self._session):
                    self._on_alarm(alarm)

    def _record_source(self, source: str) -> None:
        """The run's fact "loss": where its losses come from."""
        if source == self._loss_source:
            return
        self._loss_source = source
        self._call("fact", "loss", source)
        if source == "unknown":
            self._say(
                "the loss is unknown: no backward() on one number was seen to reach the model; pass "
                "it to scope.loss(loss) before optimizer.step()",
                aloud=True,
            )

    def _after_update(self, *_: Any) -> None:
        self._next()  # what a line search evaluated after the step is not of the next one
        self._passes.listen(*self._session.needs())

    def _next(self) -> None:
        self._update.next()
        self._passes.next()
        self._norm.next()

    def latest(self) -> dict[str, Any]:
        """What the probes said last: {"step": …, "kappa/sigma": {layer: value}, …}."""
        names, layers, _, numbers = self._session.latest()
        out: dict[str, Any] = {"step": int(self._session.next_step()) - 1}
        for name, layer, row in zip(names, layers, numbers.tolist(), strict=True):
            if layer:
                out.setdefault(name, {})[layer] = row[1]
            else:
                out[name] = row[1]
        return out

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
            self._say(f"nothing is measured together from here on: {why}", aloud=True)

    def _skipped(self) -> None:
        """No update came of the passes since the last one."""
        self._session.skip()
        self._tried += 1
        self._next()
        self._passes.listen(*self._session.needs())

    def _say(self, note: str, aloud: bool = False) -> None:
        """Once; aloud: on stderr too."""
        if note in self._said:
            return
        self._said.add(note)
        self._notes.append(note)
        self._call("event", "note", note)
        if aloud and self._session.writes():
            print(f"kappascope: {note}", file=sys.stderr)

    def _call(self, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self._session, method)(*arguments)
        except RuntimeError as error:
            raise Error(one_line(error)) from None
