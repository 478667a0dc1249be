# SPDX-License-Identifier: Apache-2.0
"""Alarms that a watched run raises."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Alarm:
    """What a rule found in one step; `layer` is empty for the whole model."""

    name: str
    step: int
    layer: str
    message: str

    def __str__(self) -> str:
        where = f"{self.layer}: " if self.layer else ""
        return f"alarm {self.name} at step {self.step}: {where}{self.message}"


def alarms_of(session: Any) -> Iterator[Alarm]:
    """Those of the step that was completed last."""
    for alarm in zip(*session.alarms(), strict=True):
        yield Alarm(*alarm)


def print_alarm(alarm: Alarm) -> None:
    print(f"kappascope: {alarm}", file=sys.stderr)
