#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the figures of theory/REPORT.md into theory/report: needs matplotlib, and for the path the package kappascope.

    experiments/report/figures.py forest
    experiments/report/figures.py path FOLDER   # --out of a sweep of experiments/report/path.ini
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
    results = Results((HERE.parent / "results.json").read_text())
    losses = results.losses()
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
    save(figure, "forest", Description=results.digest_of_losses())


def path(folder: Path) -> None:
    import kappascope

    lines: dict[tuple[str, str], list[dict[str, tuple]]] = defaultdict(list)  # by loss and arm; of a run by layer
    for place in sorted(folder.glob("*/run.sqlite")):
        run = kappascope.read(place.parent)
        if run.facts.get("kind") == "study":
            continue
        by_layer = {series.layer: (series.step.tolist(), series.value.tolist()) for series in run.series("bias/residual")}
        lines[run.facts["condition"], run.facts["label"]].append(by_layer)
    layers = sorted(next(iter(lines.values()))[0])
    figure, panels = plt.subplots(len(layers), 2, figsize=(7.5, 2.3 * len(layers)), sharex=True, sharey=True, layout="constrained")
    for column, loss in enumerate(("squared", "cross-entropy")):
        for row, layer in enumerate(layers):
            panel = panels[row][column]
            for arm, (label, colour) in PATHS.items():
                found = [by_layer[layer] for by_layer in lines[f"loss {loss}", arm]]
                for steps, values in found:
                    panel.plot(steps, values, color=colour, alpha=0.25, linewidth=0.8)
                middle = [statistics.median(values) for values in zip(*(values for _, values in found))]
                panel.plot(found[0][0], middle, color=colour, linewidth=2, label=label)
            panel.axhline(1, color="#555555", linewidth=0.8, linestyle=":")
            panel.set_title(f"{'squared loss' if loss == 'squared' else loss}, layer {row + 1}", fontsize=9)
            panel.set_xlabel("step" if row + 1 == len(layers) else "")
            panel.set_ylabel("‖μ+b‖ / ‖μ‖" if column == 0 else "")
    panels[0][0].set_ylim(bottom=0)
    panels[0][1].legend(fontsize=8, loc="upper right")
    save(figure, "path")


def save(figure: Any, name: str, **metadata: str) -> None:
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / f"{name}.svg", metadata={"Date": None, **metadata})


def main() -> int:
    matplotlib.rcParams.update({"svg.hashsalt": "kappascope", "svg.fonttype": "none", "axes.spines.top": False, "axes.spines.right": False})
    match sys.argv[1:]:
        case ["forest"]:
            forest()
        case ["path", folder]:
            path(Path(folder))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
