# SPDX-License-Identifier: Apache-2.0
"""Watches a training loop: hooks give the C++ session what passes the down-projections."""

import atexit
import functools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn

from .alarms import Alarm, alarms_of, print_alarm
from .experts import Bank, Watch
from .hooks import Hook, close_at_exit, watch_scaler
from .layers import Layer, table_of
from .._library import Error, one_line
from .shards import of_block, plain, rows_of, seen_of
from .update import Update


class Scope:
    """What attach() gives. Use it as a context, or call close() at the end."""

    def __init__(
        self,
        session: Any,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        layers: list[Layer],
        banks: list[Bank],
        scaler: Any,
        gather: bool,
        on_snapshot: Callable[[dict[str, Any]], None] | None,
        on_alarm: Callable[[Alarm], None] | None,
        notes: list[str],
    ) -> None:
        self._session = session
        self._layers = layers
        self._banks = banks
        self._gather = gather
        self._notes: list[str] = []
        self._watching: list[Watch] = []
        self._uncompiled_pass = torch.compiler.disable(self._pass)  # type: ignore[no-untyped-call]
        self._scaler = scaler
        self._on_snapshot = on_snapshot
        self._on_alarm = on_alarm or print_alarm
        self._closed = False
        self._paused = 0
        self._features, self._gradients = session.needs()
        self._update = Update(
            model, routed=bool(banks) or any(".experts." in layer.name for layer in layers)
        )
        self._seen: dict[str, int] = {}  # passes of a layer in this step that may be recomputed
        self._said: set[str] = set()
        self._handles = [
            layer.module.register_forward_hook(Hook(self, "_see", layer)) for layer in layers
        ]
        for bank in banks:
            self._handles += [
                bank.module.register_forward_pre_hook(Hook(self, "_enter_bank", bank)),
                bank.module.register_forward_hook(Hook(self, "_leave_bank"), always_call=True),
            ]
        self._handles += [
            model.register_forward_pre_hook(Hook(self, "_see_inputs"), with_kwargs=True),
            model.register_forward_hook(Hook(self, "_see_output"), with_kwargs=True),
            optimizer.register_step_pre_hook(Hook(self, "_before_update")),
            optimizer.register_step_post_hook(Hook(self, "_after_update")),
        ]
        for note in notes:
            self._say(note)
        self._updated = False
        self._norm: float | None = None
        if scaler is not None:
            watch_scaler(self, scaler)
        self._at_exit = functools.partial(close_at_exit, weakref.ref(self))
        atexit.register(self._at_exit)

    # What the user calls.

    def loss(self, loss: Tensor | float, terms: int | None = None) -> None:
        """The loss of one backward pass; several of them before an update are averaged.

        A model that gives its own (`model(**batch).loss`) needs no call.

        terms: how many terms (tokens with a label) the update's loss is the mean over, where the
            forward pass did not say so by labels= and these are not all tokens.
        """
        self._update.add_loss(loss, terms)

    def gradient_norm(self, norm: Tensor | float) -> None:
        """The norm of all gradients of this update, as clip_grad_norm_() returns it.

        A loop that tells it has it in its run, and is warned of its spikes.
        """
        self._norm = float(norm)

    def record(self, name: str, value: float, layer: str = "") -> None:
        """A number of your own of the last step: it is called user/NAME.

        Of several processes, what process 0 records is written.
        """
        self._call("record", name if name.startswith("user/") else f"user/{name}", layer, value)

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Passes with gradients in here are not of training (an attack, an influence function)."""
        self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1

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
        self._call("flush")

    def close(self, state: Literal["finished", "interrupted", "failed"] = "finished") -> None:
        """Takes the hooks away and writes the rest. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._features = self._gradients = False
        for handle in self._handles:
            handle.remove()
        atexit.unregister(self._at_exit)
        self._call("close", state)

    def __enter__(self) -> "Scope":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.close("interrupted" if issubclass(kind, KeyboardInterrupt) else "failed")

    # What PyTorch calls.

    def _see_inputs(self, model: nn.Module, inputs: Any, kwargs: dict[str, Any]) -> None:
        if not (self._features and torch.is_grad_enabled()) or self._paused:
            return
        if torch._C._current_graph_task_id() < 0:
            self._update.see_inputs(model, inputs, kwargs)

    def _see_output(
        self, model: nn.Module, inputs: Any, kwargs: dict[str, Any], output: Any
    ) -> None:
        if not self._paused:
            self._update.see_output(kwargs, output)

    def _see(self, layer: Layer, module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        if not self._features or self._paused or not torch.is_grad_enabled():
            return
        if not (isinstance(output, Tensor) and inputs and isinstance(inputs[0], Tensor)):
            return
        bias = getattr(module, "post_gating_bias", None)
        dropout = layer.dropout
        share = dropout.p if dropout is not None and dropout.training else 0.0
        features, block = seen_of(inputs[0], self._gather)
        if features is None:
            return
        name = layer.name if block is None else block.name(layer.name)
        self._pass(name, features, output, slice(None), of_block(bias, block), share)

    def _enter_bank(self, bank: Bank, *_: Any) -> None:
        if not self._features or self._paused or not torch.is_grad_enabled():
            return
        watch = Watch(bank, self._uncompiled_pass)
        watch.__enter__()  # type: ignore[no-untyped-call]
        self._watching.append(watch)

    def _leave_bank(self, *_: Any) -> None:
        if self._watching:
            self._watching.pop().__exit__(None, None, None)  # type: ignore[no-untyped-call]

    def _pass(
        self,
        name: str,
        features: Tensor,
        output: Tensor,
        rows: slice,
        bias: Tensor | None = None,
        dropout: float = 0.0,
    ) -> None:
        if torch._C._current_graph_task_id() >= 0 and self._seen.get(name, 0) > 0:
            # Activation checkpointing runs the forward pass again within the backward pass. The
            # reentrant kind ran it without gradients before, and nothing was seen then.
            self._seen[name] -= 1
            return
        self._seen[name] = self._seen.get(name, 0) + 1
        number = self._call(
            "forward",
            name,
            features,
            bias,
            dropout,
            self._mask_of(name, features),
            output.requires_grad,
        )
        if not output.requires_grad:
            return
        session, wanted, scaler = self._session, self._gradients, self._scaler
        count = rows_of(features)

        def arrived(gradient: Tensor) -> None:
            if not wanted:
                session.backward(number, None)
                return
            scale = 1.0 if scaler is None else float(scaler.get_scale())
            mine = plain(gradient)[rows]
            if rows_of(mine) != count:
                self._say(f"{name}: its outputs are sharded by rows: no gradient variance")
                session.backward(number, None)
                return
            session.backward(number, mine if scale == 1.0 else mine / scale)

        output.register_hook(arrived)  # type: ignore[no-untyped-call]

    def _mask_of(self, name: str, features: Tensor) -> Tensor | None:
        mask, note = self._update.mask_of(name, features)
        if note:
            self._say(note)
        return mask

    def _before_update(
        self, optimizer: torch.optim.Optimizer, given: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        # The optimiser itself is the first of `given`.
        closure = given[1] if len(given) > 1 else named.get("closure")
        if closure is None:
            self._end_step(optimizer)
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
                self._end_step(optimizer)
            return loss

        if len(given) > 1:
            return (given[0], watched, *given[2:]), named
        return given, {**named, "closure": watched}

    def _end_step(self, optimizer: torch.optim.Optimizer) -> None:
        self._updated = True
        self._features = self._gradients = False  # what the probes pass is not of training
        loss = self._update.loss()
        rate = float(optimizer.param_groups[0].get("lr", float("nan")))
        try:
            emitted = self._call("step", loss, rate, self._norm, self._update.terms)
        finally:
            self._next()  # a run that had to go on elsewhere raises, once, with the step counted
        if emitted and self._on_snapshot is not None and self._session.writes():
            self._on_snapshot(self.latest())
        for alarm in alarms_of(self._session):
            self._on_alarm(alarm)

    def _after_update(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        self._features, self._gradients = self._session.needs()

    def _next(self) -> None:
        self._update.next()
        self._seen.clear()
        self._norm = None
        self._features = self._gradients = False

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

    def _skipped(self) -> None:
        """No update came of the passes since the last one."""
        self._session.skip()
        self._next()
        self._features, self._gradients = self._session.needs()

    def _say(self, note: str) -> None:
        if note not in self._said:
            self._said.add(note)
            self._notes.append(note)
            self._call("event", "note", note)

    def _call(self, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self._session, method)(*arguments)
        except RuntimeError as error:
            raise Error(one_line(error)) from None
