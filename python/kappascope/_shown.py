# SPDX-License-Identifier: Apache-2.0
"""What every result can do: dictionaries, frames, notebooks, figures."""

import html
import math
from dataclasses import fields, is_dataclass
from typing import Any

from torch import Tensor


def printable(text: str) -> str:
    """With nothing in it that a terminal obeys, on one line; names and messages of a run may be anybody's."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class Shown:
    """A result: a dataclass whose table() is what is printed."""

    def table(self) -> list[dict[str, Any]]:
        """Its numbers as the rows of a table."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Everything but eigenvectors, as numbers, texts, lists and dictionaries (for JSON, where
        NaN and infinity must be allowed)."""
        found = _plain(self)
        assert isinstance(found, dict)
        return found

    def frame(self) -> Any:
        """table() as a pandas frame."""
        import pandas  # type: ignore[import-untyped]

        return pandas.DataFrame(self.table())

    def plot(self, ax: Any = None) -> Any:
        """Draws it with matplotlib, into `ax` or a figure of its own; returns the axes."""
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError:
                raise ImportError("plot() needs the package matplotlib") from None
            ax = pyplot.subplots(layout="constrained")[1]
        self._draw(ax)
        return ax

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        rows = self.table()
        lines = [line for line in repr(self).splitlines() if not line.startswith("  ")]
        cells = [[html.escape(_short(value)) for value in row.values()] for row in rows]
        heads = "".join(f"<th>{html.escape(name)}</th>" for name in rows[0]) if rows else ""
        body = "".join("<tr><td>" + "</td><td>".join(row) + "</td></tr>" for row in cells)
        words = "".join(f"<p>{html.escape(line)}</p>" for line in lines[1:])
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
        return f"<p><b>{html.escape(lines[0])}</b></p>{table}{words}"


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value) if field.name != "eigenvectors"]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {name: list(shape) for name, shape in value.items()}
    return value


def finite_log(ax: Any, axis: str, values: list[float]) -> None:
    """A log axis where positive values differ by more than a decade, one that is linear about zero
    where their signs differ too."""
    shown = [value for value in values if math.isfinite(value) and value != 0]
    if not shown or max(map(abs, shown)) < 10 * min(map(abs, shown)):
        return
    if min(shown) > 0:
        getattr(ax, f"set_{axis}scale")("log")
    else:
        smallest = min(abs(value) for value in shown)
        getattr(ax, f"set_{axis}scale")("symlog", linthresh=smallest)


def draw_intervals(ax: Any, shown: list[tuple[str, Any]], xlabel: str) -> None:
    """Estimates with value, lower, upper and status, a row each on a logarithmic axis. One without a
    number stands at its lower bound, and an infinite bound at the edge."""
    known = [x for _, e in shown for x in (e.value, e.lower, e.upper) if math.isfinite(x)]
    end = 3 * max(known, default=1.0)
    for row, (_, estimate) in enumerate(shown):
        value = estimate.value if math.isfinite(estimate.value) else estimate.lower
        reach = [[value - estimate.lower], [min(estimate.upper, end) - value]]
        face = None if estimate.status == "resolved" else "none"  # hollow: not what it says
        ax.errorbar([value], [row], xerr=reach, fmt="o", capsize=4, markerfacecolor=face)
    ax.set_yticks(range(len(shown)), [name for name, _ in shown])
    ax.set_xscale("log")
    ax.set(xlabel=xlabel)
    ax.set_ylim(len(shown) - 0.5, -0.5)
