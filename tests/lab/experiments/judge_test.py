#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""experiments/alarms/judge.py on trainings whose spikes, alarms and chance are known, and on stored runs."""

import contextlib
import io
import math
import os
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock
import warnings
from pathlib import Path

import kappascope
import numpy
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "experiments" / "alarms"))
import judge  # noqa: E402

CALM = (0.988, 1.010, 1.0, 0.990, 1.012)  # within one robust deviation (0.0148) of the median, 1
LOSS_RULE, NORM_RULE = judge.PLAIN
RISE = 1.06  # 4 deviations: the plain rule speaks, and no spike begins


def loss(steps, planted):
    """Calm but for the values planted: {step: value} or {(first, last): value}."""
    values = [CALM[i % 5] for i in range(steps)]
    for place, value in planted.items():
        first, last = place if isinstance(place, tuple) else (place, place)
        values[first : last + 1] = [value] * (last + 1 - first)
    return range(steps), values


def training(planted, alarms=(), steps=1050, norm=None):
    return judge.Training(loss(steps, planted), loss(steps, norm or {}), alarms)


def at(rule, *steps):
    return [(step, rule) for step in steps]


class Spikes(unittest.TestCase):
    def test_spikes_are_found_where_they_were_planted(self):
        # A deviation is 0.01483: 1.12 is above eight of them, 1.117 not; 0.2 lies below.
        _, values = loss(400, {(100, 104): 2.0, 200: 1.12, 250: 1.117, 300: 0.2, (380, 399): 3.0})
        self.assertEqual(judge.spikes(values), [(100, 104), (200, 200), (380, 399)])
        self.assertEqual(judge.spikes(values, 2.0, 1.0), [(100, 104), (200, 200), (250, 250), (380, 399)])

    def test_a_spike_is_over_after_ten_values_below_four_deviations(self):
        self.assertEqual(judge.spikes(loss(200, {100: 2.0, 110: 2.0})[1]), [(100, 110)])
        self.assertEqual(judge.spikes(loss(200, {100: 2.0, 111: 2.0})[1]), [(100, 100), (111, 111)])
        self.assertEqual(judge.spikes(loss(200, {100: 2.0, (101, 103): 1.062, (104, 106): 1.055})[1]), [(100, 103)])

    def test_a_spike_that_the_series_cuts_off_ends_with_its_last_high_value(self):
        self.assertEqual(judge.spikes(loss(200, {(190, 195): 2.0})[1]), [(190, 195)])

    def test_fifty_calm_values_are_needed(self):
        self.assertEqual(judge.spikes(loss(200, {49: 9.0})[1]), [])
        self.assertEqual(judge.spikes(loss(200, {50: 9.0})[1]), [(50, 50)])

    def test_a_loss_that_is_not_finite_is_a_spike_and_never_calm(self):
        for value in (math.nan, math.inf, -math.inf):
            with self.subTest(value=value):
                self.assertEqual(judge.spikes(loss(200, {120: value})[1]), [(120, 120)])
                self.assertEqual(judge.spikes(loss(60, {(20, 59): value})[1]), [(20, 59)])
                early = training({(20, 44): value, 150: 2.0}, steps=200)
                # The first is over before spikes and alarms count.
                self.assertEqual((early.begins, (~early.calm).sum()), ([100], 1))

    def test_a_series_without_values_or_noise_has_none(self):
        self.assertEqual(judge.spikes([]), [])
        self.assertEqual(judge.spikes([0.7] * 200), [])
        self.assertEqual(judge.spikes([0.7] * 100 + [0.7 + 1e-13] * 9), [])  # by rounding


class Trainings(unittest.TestCase):
    def test_steps_count_from_the_first_stored_one_with_fifty_before_it(self):
        steps, values = loss(300, {200: 2.0})
        for first in (0, 1000):
            one = judge.Training(([first + step for step in steps], values), alarms=at("a", first + 49, first + 60))
            self.assertEqual((one.steps, one.begins), (250, [150]))
            self.assertEqual(numpy.flatnonzero(one.marks["a"]).tolist(), [10])  # 49 does not count

    def test_alarms_of_several_layers_in_a_step_count_once(self):
        self.assertEqual(training({}, at("a", 100, 100)).sums("a", 50)[0][1], 1)

    def test_a_run_has_its_alarms_among_other_events_and_its_series_among_those_of_layers(self):
        def series(name, layer, values):
            return types.SimpleNamespace(
                name=name, layer=layer, step=torch.arange(100), value=torch.tensor(values, dtype=torch.float64)
            )

        found = [
            series("gradient_norm", "", loss(100, {80: RISE})[1]),
            series("loss/train", "", loss(100, {90: 2.0})[1]),
            series("loss/train", "blocks.0", loss(100, {70: 2.0})[1]),
        ]
        events = [(60, "nan_loss", ""), (70, "alarm/kappa", "blocks.0: changed"), (75, "alarm/kappa", "blocks.1: changed")]
        with unittest.mock.patch.object(judge.rules, "of_trainscope", lambda _: []):
            one = judge.read(types.SimpleNamespace(series=lambda: found, events=events))
        spoken = {rule: numpy.flatnonzero(marks).tolist() for rule, marks in one.marks.items()}
        self.assertEqual((one.begins, spoken), ([40], {"kappa": [20, 25], NORM_RULE: [30], LOSS_RULE: [40]}))

    def test_a_training_without_losses_or_too_short_counts_nothing(self):
        for one in (judge.Training(((), ()), alarms=at("a", 3)), training({30: math.nan}, at("a", 3, 30), steps=31)):
            self.assertEqual(one.steps, 0)
            self.assertEqual(one.sums("a", 50)[0].tolist(), [0] * 9)


class Rules(unittest.TestCase):
    def spoken(self, name, layers):
        found = [
            types.SimpleNamespace(
                name=name,
                layer=f"blocks.{i}",
                step=torch.arange(9, 10 * len(values), 10),
                value=torch.tensor(values, dtype=torch.float64),
            )
            for i, values in enumerate(layers)
        ]
        spoken = {}
        for step, rule in judge.rules.of_series(found):
            spoken.setdefault(rule, []).append(step)
        return spoken

    def test_a_jump_breaks_both_rules_once_and_a_drift_the_sum_alone(self):
        calm = [CALM[i % 5] for i in range(40)]
        jump = list(calm)
        jump[30] = 1.2
        name = "norm of W_d"
        self.assertEqual(
            self.spoken("weight/down_norm", [calm, jump]),
            {f"{name} rose by 3 deviations": [309], f"{name}, cumulative sum": [309]},
        )
        # Of a ramp each value lies 5.5 / (1.4826 * 2.5) = 1.48 deviations above the ten before it.
        ramp = [1 + 0.01 * i for i in range(40)]
        self.assertEqual(self.spoken("weight/down_norm", [ramp]), {f"{name}, cumulative sum": [229, 359]})

    def test_ten_values_are_needed_a_fall_is_no_rise_and_values_that_are_none_are_passed_over(self):
        values = [CALM[i % 5] for i in range(9)] + [5.0]
        self.assertEqual(self.spoken("magnitude/largest", [values]), {})
        values = [CALM[i % 5] for i in range(20)] + [0.5, math.nan, 0.5]
        self.assertEqual(self.spoken("magnitude/largest", [values]), {})
        # What falls where trouble comes is turned round.
        self.assertEqual(set(self.spoken("step/critical", [values])), {
            "1 / critical step rose by 3 deviations", "1 / critical step, cumulative sum"})


class Chance(unittest.TestCase):
    def test_it_is_the_share_of_shifts(self):
        marks = numpy.zeros(100, bool)
        self.assertEqual(judge.chance(marks, 30), 0)
        marks[[10, 15]] = True
        self.assertAlmostEqual(judge.chance(marks, 1), 0.02)
        self.assertAlmostEqual(judge.chance(marks, 20), 0.25)  # windows that begin at 91 to 15
        self.assertEqual(judge.chance(marks, 0), 0)
        self.assertEqual(judge.chance(marks, 100), 1)

    def test_every_shift_tried_by_hand_gives_the_same(self):
        draw = numpy.random.default_rng(4)
        for length in (1, 7, 60):
            marks = draw.random(60) < 0.05
            by_hand = numpy.mean([numpy.roll(marks, shift)[:length].any() for shift in range(60)])
            self.assertAlmostEqual(judge.chance(marks, length), by_hand)


class Judged(unittest.TestCase):
    def setUp(self):
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("error")

    def of(self, trainings, rule, horizon=50):
        return judge.judge(trainings, horizon)[rule]

    def test_lead_time_false_alarms_and_chance_of_a_rule_that_comes_first(self):
        planted = {180: RISE, (200, 209): 2.0}
        alarms = at("early", 170, 500, 600) + at("inside", 200, 205) + at("late", 190)
        of = judge.judge([training(planted, alarms) for _ in range(6)], 50)
        early, inside, late = of["early"], of["inside"], of["late"]
        self.assertEqual((early["alarms"], early["lead"]), (18, 30))
        numpy.testing.assert_allclose(early["false"], 2 / 3)
        self.assertEqual(early["warned"][0], 1)
        # On a circle of the 990 steps outside of the spike, each of the alarms lies in the 50 steps
        # before the spike in 50 shifts, and in the 30 before the plain rule spoke in 30.
        self.assertAlmostEqual(early["before"][0], 1 - 150 / 990)
        self.assertEqual(early["ahead"][0], 1)
        numpy.testing.assert_allclose(early["ahead of chance"], 1 - 90 / 990)
        self.assertEqual(early["leads"], "no")  # the plain rule is never false
        # Alarms in a spike neither warn nor are false; they follow, on a circle of all steps: the two
        # alarms lie in a window of 50 in 55 shifts.
        self.assertEqual((inside["alarms"], inside["warned"][0]), (0, 0))
        self.assertTrue(numpy.isnan(inside["false"]).all())
        self.assertAlmostEqual(inside["after"][0], 1 - 55 / 1000)
        self.assertEqual(inside["leads"], "no")
        # One that comes after the plain rule warns, and does not lead.
        self.assertEqual((late["warned"][0], late["ahead"][0], late["lead"], late["leads"]), (1, 0, 10, "no"))
        # The plain rule: at the rise, and no more within the spike; it has no other before it.
        plain = of[LOSS_RULE]
        self.assertEqual((plain["alarms"], plain["lead"], plain["ahead"][0], plain["leads"]), (6, 20, 1, "–"))

    def test_the_horizon_ends_where_it_is_said_to(self):
        for step, said in ((149, 0), (150, 1), (199, 1), (200, 0)):
            of = self.of([training({200: 2.0}, at("a", step))], "a")
            self.assertEqual(of["warned"][0], said, step)
            if of["alarms"]:
                self.assertEqual(of["false"][0], 1 - said, step)
        self.assertEqual(self.of([training({200: 2.0}, at("a", 149))], "a", 51)["warned"][0], 1)

    def test_the_first_of_several_alarms_is_the_lead_time(self):
        self.assertEqual(self.of([training({200: 2.0}, at("a", 120, 160, 190))], "a")["lead"], 40)

    def test_of_a_horizon_only_the_steps_where_alarms_count_are_left(self):
        # 20 steps after the first 50, of 999 outside of the spike.
        of = self.of([training({70: 2.0}, at("a", 60))], "a")
        self.assertAlmostEqual(of["before"][0], 1 - 20 / 999)
        # 50 steps before the first spike and 39 before the second, of 988.
        of = self.of([training({(200, 210): 2.0, 250: 2.0}, at("a", 220))], "a")
        self.assertAlmostEqual(of["before"][0], (0 - 50 / 988 + 1 - 39 / 988) / 2)

    def test_a_plain_rule_that_speaks_within_another_spike_takes_no_lead(self):
        of = self.of([training({(200, 210): 2.0, 240: 2.0}, at("a", 220), norm={205: RISE})], "a")
        self.assertEqual(of["ahead"][0], 1 / 2)

    def test_a_spike_as_long_as_the_training_can_be_followed_only(self):
        of = self.of([training({(50, 99): 2.0}, at("a", 60), steps=100)], "a")
        self.assertEqual([of[name][0] for name in ("warned", "before", "after")], [0, 0, 0])

    def test_a_plain_rule_takes_the_lead_only_within_the_horizon(self):
        for rise, ahead in ((120, 1), (155, 0), (160, 0), (170, 1)):
            for plant in ({"planted": {rise: RISE, 200: 2.0}}, {"planted": {200: 2.0}, "norm": {rise: RISE}}):
                of = self.of([training(**plant, alarms=at("a", 160))], "a")
                self.assertEqual(of["ahead"][0], ahead, (rise, plant))
        of = self.of([training({155: RISE, 180: RISE, 200: 2.0}, alarms=at("a", 160))], "a")
        self.assertEqual(of["ahead"][0], 0)

    def test_a_rule_more_often_false_than_the_best_plain_one_does_not_lead(self):
        planted = {190: RISE, 200: 2.0}
        for more, leads in ((), "yes"), ((600,), "no"):
            of = self.of([training(planted, at("a", 170, *more)) for _ in range(6)], "a")
            self.assertEqual(of["leads"], leads)

    def test_a_rule_that_always_speaks_gains_nothing_over_chance(self):
        always = at("always", *range(1050))
        planted = [{(k, k + 400): 2.0, k - 20: RISE, 900: 2.0, 930: 3.0} for k in range(200, 440, 40)]
        of = self.of([training(one, always) for one in planted], "always")
        self.assertEqual((of["warned"][0], of["ahead"][0], of["leads"]), (1, 1, "no"))
        for name in ("before", "after", "ahead of chance"):
            numpy.testing.assert_allclose(of[name], 0, atol=1e-12)

    def test_rules_that_speak_at_random_gain_nothing_but_by_chance(self):
        draw = numpy.random.default_rng(7)
        rules = [f"random {i}" for i in range(20)]
        trainings = []
        for k in range(40):
            planted = {(200 + 9 * k, 209 + 9 * k + 8 * k): 2.0, 190 + 9 * k: RISE, 1000: 2.0}
            alarms = [one for rule in rules for one in at(rule, *draw.integers(1050, size=20))]
            trainings.append(training(planted, alarms))
        of = judge.judge(trainings, 50)
        self.assertGreater(min(of[rule]["warned"][0] for rule in rules), 0.4)
        for name in ("before", "after", "ahead of chance"):
            values = numpy.array([of[rule][name] for rule in rules])
            error = values[:, 0].std(ddof=1) / math.sqrt(len(rules))
            self.assertLess(error, 0.02)
            self.assertLess(abs(values[:, 0].mean()), 3 * error, name)
            covered = ((values[:, 1] < 0) & (values[:, 2] > 0)).sum()
            self.assertGreaterEqual(covered, 16, name)  # of 20 intervals at 95 %
        self.assertEqual({of[rule]["leads"] for rule in rules}, {"no"})

    def test_the_bound_is_shared_among_the_rules(self):
        def bounds(count):
            steps = range(200, 320, 10)  # 250 to 299 warn
            rules = [f"rule {i}" for i in range(count)]
            alarms = [[one for rule in rules for one in at(rule, step)] for step in steps]
            return self.of([training({300: 2.0}, one) for one in alarms], "rule 0")["ahead of chance"]

        one, many = bounds(1), bounds(20)
        self.assertEqual(one[:3], many[:3])
        self.assertEqual(one[3], one[1])
        self.assertLess(many[3], one[3])

    def test_intervals_need_five_trainings_with_a_spike_or_an_alarm(self):
        calm, spike = training({}, at("a", 400)), training({200: 2.0}, at("a", 170))
        few, enough = self.of([calm] * 6 + [spike] * 4, "a"), self.of([calm] * 6 + [spike] * 5, "a")
        self.assertEqual((few["warned"][0], few["leads"]), (1, "–"))
        self.assertTrue(numpy.isnan(few["warned"][1:]).all())
        self.assertFalse(numpy.isnan(few["false"]).any())
        self.assertTrue(numpy.isfinite(enough["warned"]).all())
        self.assertEqual(enough["leads"], "yes")
        silent = [training({200: 2.0})] * 6
        few = self.of([spike] * 4 + silent, "a")
        self.assertTrue(numpy.isnan(few["false"][1:]).all())
        self.assertFalse(numpy.isnan(few["warned"]).any())

    def test_without_a_spike_the_cells_are_dashes(self):
        of = self.of([training({}, at("a", 400))], "a")
        self.assertEqual(judge.row("a", of), "| a | 1 | 100 | – | – | – | – | – | – | – |")
        of = self.of([training({200: 2.0}, at("a", 170)) for _ in range(5)], "a")
        expected = "a|5|0 [0, 0]|100 [100, 100]|30|95 [95, 95]|-5 [-5, -5]|100 [100, 100]|95 [95, 95]|yes"
        self.assertEqual(judge.row("a", of).strip("| "), expected.replace("|", " | "))


class Stored(unittest.TestCase):
    """Runs as kappascope.attach() writes them, with losses and norms told to it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.write("mine/spikes", {200: 2.0, 230: math.nan}, {190: 50.0, 240: 1.0})
        cls.write("mine/calm", {}, {})

    @classmethod
    def write(cls, name, losses, norms):
        layer = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.0)
        model = torch.nn.Sequential(layer)
        path = Path(cls.folder.name) / name
        path.parent.mkdir(exist_ok=True)
        scope = kappascope.attach(
            model, optimizer, path, layers=["0"], probes="features", every=10**6, on_alarm=lambda alarm: None
        )
        for told, norm in zip(loss(300, losses)[1], loss(300, norms)[1]):
            model(torch.ones(4, 2)).sum().backward()
            scope.loss(told)
            scope.gradient_norm(norm)
            optimizer.step()
        scope.close()

    def judge(self, *names):
        """Exit status, stdout and stderr."""
        words = ["judge.py", *(str(Path(self.folder.name) / name) for name in names)]
        out, errors, status = io.StringIO(), io.StringIO(), 0
        with unittest.mock.patch("sys.argv", words), contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            try:
                judge.main()
            except SystemExit as end:
                status = end.code
        return status, out.getvalue(), errors.getvalue()

    def test_the_table_of_a_folder(self):
        status, out, errors = self.judge("mine")
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("## mine\n\n2 trainings of 500 steps in total; 1 of them have 2 spikes.\n", out)
        rows = {line.split(" | ")[0].removeprefix("| "): line for line in out.splitlines()}
        # 190 warns of both spikes, 10 and 40 steps before them.
        self.assertIn("| gradient_norm | 1 | 0 | 100 | 25 |", rows["gradient_norm"])
        self.assertIn("| non_finite | 0 | – | 0 | – |", rows["non_finite"])  # within a spike
        self.assertIn("| 1 | 0 | 100 | 25 |", rows[NORM_RULE])
        self.assertIn("| 0 | – | 0 | – |", rows[LOSS_RULE])
        self.assertNotIn("all trainings", out)

    def test_several_folders_are_judged_each_and_together(self):
        _, out, _ = self.judge("mine/spikes", "mine/calm")
        heads = [line for line in out.splitlines() if line.startswith("## ")]
        self.assertEqual(heads, ["## spikes", "## calm", "## all trainings"])
        self.assertEqual(out.count("| gradient_norm | 1 | 0 | 100 | 25 |"), 2)

    def test_an_archived_run_is_passed_over(self):
        self.write("hidden/run", {}, {})
        self.assertEqual(self.judge("hidden")[0], 0)
        words = [os.environ["KAPPASCOPE_PROGRAM"], "annotate", "--archive", Path(self.folder.name) / "hidden" / "run"]
        subprocess.run(words, check=True, capture_output=True)
        self.assertIn("hidden holds no runs", self.judge("hidden")[2])

    def test_a_folder_without_runs_or_that_is_not_there_is_one_error(self):
        for name in ("empty", "damaged"):
            (Path(self.folder.name) / name).mkdir(exist_ok=True)
        (Path(self.folder.name) / "damaged" / "run.sqlite").write_text("no database")
        messages = {"empty": "empty holds no runs", "none": "there is no folder .*none", "damaged": "damaged"}
        for name, message in messages.items():
            status, out, errors = self.judge("mine", name)
            self.assertEqual((status, out), (2, ""))
            usage, error = errors.splitlines()
            self.assertTrue(usage.startswith("usage: judge.py"))
            self.assertRegex(error, f"^judge.py: error: .*{message}")


if __name__ == "__main__":
    unittest.main()
