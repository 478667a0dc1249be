#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""experiments/usual/ranges.py on runs whose layers are known."""

import sys
import unittest
from pathlib import Path

import torch
from kappascope import Series

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "experiments" / "usual"))
import ranges  # noqa: E402

STEPS = "learning/second_moment"


def series(name, layer, step, value, status="resolved", groups=10.0):
    step, value = torch.tensor(step), torch.tensor(value, dtype=torch.float64)
    nothing, rows = torch.full_like(value, torch.nan), torch.full_like(value, 100.0)
    return Series(name, layer, step, value, nothing, nothing, rows, rows * groups / 100, [status] * len(step))


class Run:
    """Three layers of width 300, whose steps to learn are `value` at step 150 and twice that before."""

    def __init__(self, value, status="resolved", groups=10.0):
        self.all = [
            one
            for layer in "abc"
            for one in (
                series("layer/width", layer, [120, 150], [300.0, 300.0], "ok"),
                series(STEPS, layer, [120, 150], [2 * value, value], status, groups),
            )
        ]

    def series(self, name, layer=""):
        return [one for one in self.all if one.name == name and layer in ("", one.layer)]


class Ranges(unittest.TestCase):
    def test_each_layer_counts_once_by_its_last_number_in_a_span(self):
        (found,) = ranges.ranges([Run(float(value)) for value in range(1, 12)])
        self.assertEqual(found["series"], STEPS)
        self.assertEqual((found["width"], found["steps"]), ((256, 511), (100, 299)))
        self.assertEqual((found["layers"], found["runs"], found["rows"]), (33, 11, "sequences"))
        self.assertEqual(found["widths"], [300])
        self.assertEqual((found["low"], found["middle"], found["high"]), (2.0, 6.0, 10.0))

    def test_rows_of_their_own_are_another_case(self):
        runs = [Run(1.0) for _ in range(4)] + [Run(5.0, groups=100.0) for _ in range(4)]
        found = {one["rows"]: one["middle"] for one in ranges.ranges(runs)}
        self.assertEqual(found, {"sequences": 1.0, "single": 5.0})

    def test_too_few_layers_or_too_many_unresolved_give_no_range(self):
        self.assertEqual(list(ranges.ranges([Run(1.0)] * 3)), [])
        unresolved = [Run(1.0)] * 9 + [Run(1.0, status="not_resolvable")]
        self.assertEqual(len(list(ranges.ranges(unresolved))), 1)
        self.assertEqual(list(ranges.ranges([*unresolved, Run(1.0, status="not_resolvable")])), [])

    def test_bands_meet_and_do_not_overlap(self):
        self.assertEqual(ranges.band(ranges.STEPS, 99), [30, 99])
        self.assertEqual(ranges.band(ranges.STEPS, 100), [100, 299])
        self.assertIsNone(ranges.band(ranges.STEPS, 3000))


if __name__ == "__main__":
    unittest.main()
