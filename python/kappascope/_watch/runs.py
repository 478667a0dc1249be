# SPDX-License-Identifier: Apache-2.0
"""Reads a run back: its facts, its series, its events."""

import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from .._library import call
from .._shown import printable

_NUMBERS = ("step", "value", "lower", "upper", "rows", "effective_rows")


@dataclass(frozen=True)
class Series:
    """One number over the steps of a run. Bounds and rows are NaN where there are none."""

    name: str
    layer: str
    """Empty for a number of the whole model."""
    step: Tensor
    """[n] int64"""
    value: Tensor
    """[n] float64, as the others"""
    lower: Tensor
    upper: Tensor
    rows: Tensor
    effective_rows: Tensor
    status: list[str]
    """A word each: "ok", "resolved", "biased", "not_resolvable", … (src/store/README.md)."""


class DamageWarning(UserWarning):
    """What was read of a run is not all that was written: rows are damaged or missing."""


def _warn(directory: str, damaged: list[str]) -> None:
    """As the function that the user called."""
    if not damaged:
        return
    shown = printable("; ".join(damaged[:3])) + ("; …" if len(damaged) > 3 else "")
    warnings.warn(
        DamageWarning(
            f"{directory} is damaged in {len(damaged)} places and read without: {shown}; "
            "`Run.damage` lists them"
        ),
        stacklevel=3,
    )


class Run:
    """A run that is there, also while it is being written. Made by read()."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.facts  # noqa: B018 - refuses what is no run now, not later

    @property
    def facts(self) -> dict[str, str]:
        """What the run says of itself; "state": running, finished, interrupted, failed or dead."""
        facts, damaged = call("run_facts", self.directory)
        _warn(self.directory, damaged)
        return dict(facts)

    @property
    def events(self) -> list[tuple[int, str, str]]:
        """Step, kind and message of what happened."""
        *events, damaged = call("run_events", self.directory)
        _warn(self.directory, damaged)
        return list(zip(*events, strict=True))

    @property
    def damage(self) -> list[str]:
        """What is not as it was written, in words; empty for a whole run. One pass over the file.

        What reads a part of the run warns (DamageWarning) of the damage in that part.
        """
        return list(call("run_damage", self.directory))

    def series(self, name: str = "", layer: str = "") -> list[Series]:
        """All series, or those of a name, or of a layer."""
        names, layers, statuses, numbers, damaged = call(
            "run_scalars", self.directory, name, layer
        )
        _warn(self.directory, damaged)
        out = []
        begin = 0
        while begin < len(names):
            end = begin
            while end < len(names) and (names[end], layers[end]) == (names[begin], layers[begin]):
                end += 1
            step, value, lower, upper, rows, effective = numbers[begin:end].T
            out.append(
                Series(
                    names[begin],
                    layers[begin],
                    step.long(),
                    value,
                    lower,
                    upper,
                    rows,
                    effective,
                    statuses[begin:end],
                )
            )
            begin = end
        return out

    def frame(self) -> Any:
        """All scalars as a pandas frame: name, layer, step, value, lower, upper, …, status."""
        import pandas  # type: ignore[import-untyped]

        names, layers, statuses, numbers, damaged = call("run_scalars", self.directory, "", "")
        _warn(self.directory, damaged)
        columns: dict[str, Any] = {"name": list(names), "layer": list(layers)}
        for name, column in zip(_NUMBERS, numbers.T.numpy(), strict=True):
            columns[name] = column.astype("int64") if name == "step" else column
        columns["status"] = list(statuses)
        return pandas.DataFrame(columns)

    def __fspath__(self) -> str:
        return self.directory

    def __repr__(self) -> str:
        return f"Run({self.directory!r})"

    def __str__(self) -> str:
        """How far it came, and the last κ(Σ) of each layer."""
        lines = [f"{self.directory}: {printable(self.facts.get('state', 'unknown'))}"]
        for loss in self.series("loss/train"):
            lines[0] += f" after {len(loss.step)} steps, loss {loss.value[-1]:.4g}"
        for kappa in self.series("kappa/sigma"):
            last = f"{kappa.value[-1]:.4g} in [{kappa.lower[-1]:.4g}, {kappa.upper[-1]:.4g}]"
            lines.append(f"  {printable(kappa.layer)}: κ(Σ) {last}, {kappa.status[-1]}, at step {kappa.step[-1]}")
        return "\n".join(lines)


def read(directory: str | os.PathLike[str]) -> Run:
    """A run by its directory. Raises Error where there is none."""
    return Run(os.fspath(directory))


def report(
    run: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None = None,
) -> str:
    """Writes the page about runs or folders of them; returns its name (report.html in the first)."""
    runs = [os.fspath(run)] if isinstance(run, str | os.PathLike) else [os.fspath(r) for r in run]
    if not runs:
        raise ValueError("name at least one run")
    page = os.path.join(runs[0], "report.html") if out is None else os.fspath(out)
    _warn(page, call("report", runs, page, False))
    return page


@dataclass(frozen=True, repr=False)
class Advice:
    """What the numbers of a run ask for, and what a bias would do about each layer; print it."""

    diagnosis: list[dict[str, Any]]
    """An answer a question: "question", "verdict", "grade", "value", "lower", "upper", "threshold",
    "evidence", "action" (reports/diagnosis/diagnosis.h)."""
    suggestions: list[dict[str, str]]
    """The most urgent first, five at most: "what" (precision, rate, warm-up, batch, norm or bias),
    "evidence", "attempt", "success", "unknown"."""
    layers: list[dict[str, Any]]
    """"layer", "step", "has_bias", "verdict", and as {"value", "lower", "upper", "step"} or None:
    "mean_costs", "bias_leaves", "bias_changes", "variance_at_minus_mean", "variance_at_best"
    (reports/advice.h says what each is)."""
    limits: list[str]
    """What the theory does not promise."""
    text: str

    def __repr__(self) -> str:
        return self.text


def advise(run: str | os.PathLike[str]) -> Advice:
    """From what a run measured last. Raises Error where no layer was measured."""
    directory = os.fspath(run)
    advice = Advice(
        **json.loads(call("advice_json", directory)), text=call("advice_text", directory)
    )
    _warn(directory, call("run_damage", directory))
    return advice
