# SPDX-License-Identifier: Apache-2.0
"""What a watched loop hands to the C++ session: steps, whose numbers may come late, and notes."""

import sys
from collections import deque
from collections.abc import Callable
from typing import Any

from .._library import Error, one_line
from .alarms import Alarm, alarms_of, print_alarm
from .later import Numbers


class Record:
    def __init__(self, session: Any, on_alarm: Callable[[Alarm], None] | None) -> None:
        self._session = session
        self._on_alarm = on_alarm or print_alarm
        self._waiting: deque[Numbers] = deque()  # of steps that the session began
        self._loss_source = ""
        self.notes: list[str] = []

    def call(self, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self._session, method)(*arguments)
        except RuntimeError as error:
            raise Error(one_line(error)) from None

    def say(self, note: str, aloud: bool = False) -> None:
        """Once; aloud: on stderr too."""
        if note in self.notes:
            return
        self.notes.append(note)
        self.call("event", "note", note)
        if aloud and self._session.writes():
            print(f"kappascope: {note}", file=sys.stderr)

    def step(self, rate: float, terms: float, numbers: Numbers) -> bool:
        """Returns whether a window ended."""
        emitted = bool(self.call("begin_step", rate, terms))
        self._waiting.append(numbers)
        self.complete(wait=emitted)
        return emitted

    def complete(self, wait: bool) -> None:
        """The steps whose numbers are there, or all."""
        while self._waiting and (wait or self._waiting[0].are_there()):
            if self.call("complete_step", *self._waiting.popleft().get()):
                for alarm in alarms_of(self._session):
                    self._on_alarm(alarm)

    def loss_is_from(self, source: str) -> None:
        """The run's fact "loss": where its losses come from."""
        if source == self._loss_source:
            return
        self._loss_source = source
        self.call("fact", "loss", source)
        if source == "unknown":
            self.say(
                "the loss is unknown: no backward() on one number was seen to reach the model; pass "
                "it to scope.loss(loss) before optimizer.step()",
                aloud=True,
            )

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

    def close(self, state: str) -> None:
        try:
            try:
                self.complete(wait=True)
            finally:
                self.call("close", state)
        finally:
            self._waiting.clear()
            self._on_alarm = print_alarm
