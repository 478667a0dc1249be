#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the figures of theory/REPORT.md into theory/report: needs matplotlib, and for the path the package kappascope.

    experiments/report/figures.py forest
    experiments/report/figures.py path RUNS     # runs of a sweep of experiments/report/path.ini

RUNS is the folder `runs` of the sweep.
"""

import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import pyplot as plt
from write import Results

HERE = Path(__file__).resolve().parent
OUT = HERE.parents[1] / "theory/report"
ARMS = {"PGB": ("#0072b2", "o", True), "output bias": ("#d55e00", "o", False), "centred, output bias": ("#009e73", "s", True)}
PATHS = {"PGB": ("b from 0", "#0072b2"), "PGB from the mean": ("b from −μ", "#d55e00"), "centred": ("kept centred", "#009e73")}
WIDEST = 5.0  # per cent


def forest() -> None:
    losses = Results((HERE.parent / "results.json").read_text()).losses()
    rows = [(label, {arm: row for arm, row in arms.items() if arm in ARMS}) for label, arms in losses.items()]
    figure, axes = plt.subplots(figsize=(7.5, 0.27 * len(rows) + 1.1), layout="constrained")
    for place, (_, arms) in enumerate(rows):
        for offset, (arm, (colour, mark, filled)) in zip((-0.22, 0, 0.22), ARMS.items()):
            if arm not in arms:
                continue
            value, low, high = (100 * arms[arm][key] / arms[arm]["control_median"] for key in ("difference", "lower", "upper"))
            y = place + offset
            axes.plot([max(low, -WIDEST), min(high, WIDEST)], [y, y], color=colour, linewidth=1.2)
            if abs(value) <= WIDEST:
                axes.plot(value, y, mark, color=colour, markersize=4, markerfacecolor=colour if filled else "white")
    for x, style in ((0, "-"), (-1, ":"), (1, ":")):
        axes.axvline(x, color="#555555", linewidth=0.8, linestyle=style)
    for arm, (colour, mark, filled) in ARMS.items():
        axes.plot([], [], mark, color=colour, markerfacecolor=colour if filled else "white", label=arm)
    axes.set_yticks(range(len(rows)), [label for label, _ in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(-WIDEST, WIDEST)
    axes.set_xlabel("test loss against no bias, per cent (cut at ±5)")
    axes.legend(loc="lower right", fontsize=8)
    save(figure, "forest")


def path(runs: Path) -> None:
    import kappascope

    figure, panels = plt.subplots(1, 2, figsize=(7.5, 3), sharey=True, layout="constrained")
    for panel, loss in zip(panels, ("squared", "cross-entropy")):
        for arm, (label, colour) in PATHS.items():
            lines = [left_of_the_mean(kappascope.read(run)) for run in sorted(runs.iterdir()) if is_of(kappascope.read(run), arm, loss)]
            for line in lines:
                panel.plot(*zip(*line.items()), color=colour, alpha=0.25, linewidth=0.8)
            middle = {step: statistics.median(line[step] for line in lines) for step in lines[0]}
            panel.plot(*zip(*middle.items()), color=colour, linewidth=2, label=f"{label} ({len(lines)} seeds)")
        panel.axhline(1, color="#555555", linewidth=0.8, linestyle=":")
        panel.set_title(f"{loss} loss" if loss == "squared" else loss, fontsize=10)
        panel.set_xlabel("step")
    panels[0].set_ylabel("‖μ+b‖ / ‖μ‖")
    panels[0].set_ylim(bottom=0)
    panels[1].legend(fontsize=8)
    save(figure, "path")


def is_of(run: Any, arm: str, loss: str) -> bool:
    return run.facts.get("label") == arm and run.facts.get("setting/train.loss") == loss


def left_of_the_mean(run: Any) -> dict[int, float]:
    by_step = defaultdict(list)
    for series in run.series("bias/residual"):
        for step, value in zip(series.step, series.value):
            by_step[int(step)].append(float(value))
    return {step: statistics.median(values) for step, values in sorted(by_step.items())}


def save(figure: Any, name: str) -> None:
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / f"{name}.svg", metadata={"Date": None})


def main() -> int:
    matplotlib.rcParams.update({"svg.hashsalt": "kappascope", "svg.fonttype": "none", "axes.spines.top": False, "axes.spines.right": False})
    match sys.argv[1:]:
        case ["forest"]:
            forest()
        case ["path", runs]:
            path(Path(runs))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
