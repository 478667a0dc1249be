#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what is usual of a layer's numbers, from runs: reports/diagnosis/usual.json.

    kappascope sweep experiments/usual/language.ini --data kjv.txt --out runs/usual-language
    kappascope sweep experiments/usual/images.ini --out runs/usual-images
    experiments/usual/ranges.py RUN... > reports/diagnosis/usual.json

RUN is a run, or a folder that holds runs. A range is that of the layers of one band of widths, whose rows come in
sequences or one by one, in one span of steps after the start: what 10, 50 and 90 % of them stay below. Each layer counts
once, by its last number in the span. A range is left out where fewer than 12 layers or 4 runs have a number, or where
more than a tenth of the layers have one that is not resolved.
"""

import collections
import json
import pathlib
import statistics
import sys

import kappascope

SERIES = ("learning/second_moment", "learning/mean_costs")
WIDTHS = tuple(2**k for k in range(6, 15))
STEPS = (0, 10, 30, 100, 300, 1000, 3000)
LAYERS, RUNS, UNRESOLVED = 12, 4, 0.1

Cell = collections.namedtuple("Cell", "series rows width steps")
Number = collections.namedtuple("Number", "run width value resolved")


def band(edges, value):
    """The [first, last] of the band that holds the value; None outside."""
    return next(([low, high - 1] for low, high in zip(edges, edges[1:], strict=False) if low <= value < high), None)


def runs_in(path):
    return [path] if (path / "run.sqlite").exists() else sorted(p.parent for p in path.rglob("run.sqlite"))


def last_numbers(run):
    """{(cell, layer): (width, value, whether it is resolved)} of one run."""
    widths = {series.layer: int(series.value[-1]) for series in run.series("layer/width")}
    found = {}
    for name in SERIES:
        for series in run.series(name):
            steps = run.series("learning/second_moment", series.layer)[0]
            in_sequences = steps.effective_rows[-1] < steps.rows[-1]
            width = widths[series.layer]
            among = band(WIDTHS, width)
            for step, value, status in zip(series.step.tolist(), series.value.tolist(), series.status, strict=True):
                span = band(STEPS, step)
                if among and span:
                    cell = Cell(name, "sequences" if in_sequences else "single", tuple(among), tuple(span))
                    found[cell, series.layer] = (width, value, status in ("resolved", "ok"))
    return found


def ranges(runs):
    cells = collections.defaultdict(list)
    for at, run in enumerate(runs):
        for (cell, _), (width, value, resolved) in last_numbers(run).items():
            cells[cell].append(Number(at, width, value, resolved))
    for cell, numbers in sorted(cells.items()):
        values = [number.value for number in numbers if number.resolved]
        behind = len({number.run for number in numbers})
        if len(values) < LAYERS or behind < RUNS or len(values) < (1 - UNRESOLVED) * len(numbers):
            continue
        tenths = statistics.quantiles(values, n=10, method="inclusive")
        yield {
            **cell._asdict(),
            "widths": sorted({number.width for number in numbers}),
            "low": float(f"{tenths[0]:.3g}"),
            "middle": float(f"{tenths[4]:.3g}"),
            "high": float(f"{tenths[8]:.3g}"),
            "layers": len(values),
            "runs": behind,
        }


def main(arguments):
    if not arguments or any(word.startswith("-") for word in arguments):
        sys.exit(__doc__.strip())
    runs = [kappascope.read(run) for argument in arguments for run in runs_in(pathlib.Path(argument))]
    lines = ",\n".join(json.dumps(found) for found in ranges(runs))
    print(f"[\n{lines}\n]")


if __name__ == "__main__":
    main(sys.argv[1:])
