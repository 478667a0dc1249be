#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lead time and false-alarm rate of stored alarms and of rules on stored series, against two plain rules
(experiments/ALARMS.md).

    judge.py FOLDER... [--horizon 50]      with the package kappascope and NumPy

A FOLDER holds the runs of one problem; several are judged each and together. ALARMS.md defines the
columns. Rules that raised no alarm are not listed, and of a plain rule "ahead" is ahead of the other.
"""
import argparse
import collections
import pathlib
import statistics

import kappascope
import numpy

import rules

FIRST = 50  # steps in which no spike can be detected
PLAIN = ("loss rose by 2 deviations", "gradient norm rose by 2 deviations")
FEWEST = 5  # trainings with a spike, or an alarm, for an interval
NUMBERS = ("false", "warned", "before", "after", "ahead", "ahead of chance")
HEAD = """
## {}

{} trainings of {} steps in total; {} of them have {} spikes.

| rule | alarms | false, % | spikes warned of, % | lead time, steps | before minus chance | after minus chance \
| ahead of the plain rules, % | the same minus chance | leads |
|---|---|---|---|---|---|---|---|---|---|"""


def spikes(values, threshold=8.0, end=4.0, window=50):
    """[(first, last)] of the stretches far above the calm values before them, or not finite."""
    calm, found, begin, below = collections.deque(maxlen=window), [], None, 0
    for i, value in enumerate(numpy.where(numpy.isfinite(values), values, numpy.inf).tolist()):
        if begin is not None:
            below = 0 if value >= limits[1] else below + 1
            if below < window // 5:
                continue
            found.append((begin, i - below))
            begin = None
        limits = [numpy.inf, numpy.inf]
        if len(calm) == window:
            middle = statistics.median(calm)
            spread = 1.4826 * statistics.median(abs(one - middle) for one in calm)
            limits = [middle + max(times * spread, 1e-12 * abs(middle)) for times in (threshold, end)]
        if value > limits[0] or value == numpy.inf:
            begin, below = i, 0
        else:
            calm.append(value)
    return found if begin is None else [*found, (begin, len(values) - 1 - below)]


class Training:
    """Spikes and alarms of a run, by steps from the first on at which a spike can be detected."""

    def __init__(self, loss, norm=((), ()), alarms=()):
        """loss, norm: their steps and values; alarms: pairs of a step and a rule."""
        at = numpy.asarray(loss[0], int)
        first, last = (at[0], at[-1]) if at.size else (0, -1)
        origin = first + FIRST
        self.steps = max(0, last + 1 - origin)
        self.begins, self.calm = [], numpy.ones(self.steps, bool)
        for a, b in spikes(loss[1]):
            self.calm[max(0, at[a] - origin) : max(0, at[b] + 1 - origin)] = False
            self.begins += [at[a] - origin] if at[a] >= origin else []
        self.marks = collections.defaultdict(lambda: numpy.zeros(self.steps, bool))
        rises = [(steps[a], rule) for rule, (steps, of) in zip(PLAIN, (loss, norm)) for a, _ in spikes(of, 2.0, 1.0)]
        for step, rule in [*((-1, rule) for rule in PLAIN), *rises, *alarms]:
            marks = self.marks[rule]
            if origin <= step <= last:
                marks[step - origin] = True

    def sums(self, rule, horizon):
        """[spikes, alarms, false, and before, after and ahead each with chance], and the lead times."""
        marks = self.marks[rule]
        calm, outside = marks & self.calm, marks[self.calm]
        plain = self.calm & numpy.any([self.marks[other] for other in PLAIN if other != rule], axis=0)
        false = [not any(step < begin <= step + horizon for begin in self.begins) for step in numpy.flatnonzero(calm)]
        out, leads = numpy.array([len(self.begins), len(false), sum(false), *[0] * 6], float), []
        for begin in self.begins:
            low = max(0, begin - horizon)
            said, said_plain = (low + numpy.flatnonzero(one[low:begin]) for one in (calm, plain))
            leads += [begin - said[0]] if said.size else []
            before, after = slice(low, begin), slice(begin, begin + horizon)
            ahead = slice(low, said_plain[0] if said_plain.size else begin)
            out[3:5] += calm[before].any(), chance(outside, self.calm[before].sum())
            out[5:7] += marks[after].any(), chance(marks, marks[after].size)
            out[7:9] += calm[ahead].any(), chance(outside, self.calm[ahead].sum())
        return out, leads


def read(run):
    """The Training of a stored run."""
    all_series = run.series()
    series = {one.name: (one.step.numpy(), one.value.numpy()) for one in all_series if not one.layer}
    alarms = [(step, kind.removeprefix("alarm/")) for step, kind, _ in run.events if kind.startswith("alarm/")]
    alarms += rules.of_series(all_series) + rules.of_trainscope(all_series)
    return Training(series.get("loss/train", ((), ())), series.get("gradient_norm", ((), ())), alarms)


def chance(marks, length):
    """The share of all circular shifts of the marks that put one into a window of this length."""
    total = numpy.concatenate(([0], numpy.cumsum(numpy.tile(marks, 2))))
    starts = numpy.arange(marks.size)
    return (total[starts + length] > total[starts]).mean() if marks.size else 0.0


def numbers(sums):
    """NUMBERS; NaN without a spike, or an alarm."""
    count, alarms, false, before, before_chance, after, after_chance, ahead, ahead_chance = sums.T
    shares = [before, before - before_chance, after - after_chance, ahead, ahead - ahead_chance]
    with numpy.errstate(invalid="ignore"):
        return [false / alarms, *(share / count for share in shares)]


def judge(trainings, horizon):
    """{rule: {"alarms", "lead", "leads", and of NUMBERS [value, low, high, low for all rules together]}}"""
    names = sorted({rule for training in trainings for rule in training.marks})
    resampled = numpy.random.default_rng(1).multinomial(len(trainings), [1 / len(trainings)] * len(trainings), 4000)
    ends = [0.025, 0.975, 0.025 / max(1, len(names) - len(PLAIN))]
    out = {}
    for rule in names:
        sums, leads = zip(*(training.sums(rule, horizon) for training in trainings))
        sums, leads = numpy.array(sums), numpy.concatenate(leads)
        out[rule] = {"alarms": int(sums[:, 1].sum()), "lead": numpy.median(leads) if leads.size else numpy.nan}
        for name, value, drawn in zip(NUMBERS, numbers(sums.sum(axis=0)), numbers(resampled @ sums)):
            enough = (sums[:, 1 if name == "false" else 0] > 0).sum() >= FEWEST
            out[rule][name] = [value, *(numpy.nanquantile(drawn, ends) if enough else [numpy.nan] * 3)]
    best = numpy.nanmin([1, *(out[rule]["false"][0] for rule in PLAIN)])
    for rule, of in out.items():
        least = of["ahead of chance"][3]
        known = rule not in PLAIN and not numpy.isnan(least)
        of["leads"] = ("yes" if least > 0 and of["false"][0] <= best else "no") if known else "–"
    return out


def row(rule, of):
    def cell(value, low, high, _):
        interval = "" if numpy.isnan(low) else f" [{round(100 * low)}, {round(100 * high)}]"
        return "–" if numpy.isnan(value) else f"{round(100 * value)}{interval}"

    false, warned, *others = (cell(*of[name]) for name in NUMBERS)
    lead = "–" if numpy.isnan(of["lead"]) else f"{of['lead']:.0f}"
    return "| " + " | ".join([rule, str(of["alarms"]), false, warned, lead, *others, of["leads"]]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--horizon", type=int, default=50, help="steps before a spike in which an alarm warns of it")
    options = parser.parse_args()
    groups = []
    try:
        for folder in options.folders:
            runs = [kappascope.read(found.parent) for found in sorted(folder.rglob("run.sqlite"))]
            runs = [run for run in runs if run.facts.get("kind") != "study" and not run.facts.get("archived")]
            if not runs:
                parser.error(f"{folder} holds no runs" if folder.is_dir() else f"there is no folder {folder}")
            groups.append((folder.resolve().name, [read(run) for run in runs]))
    except kappascope.Error as error:
        parser.error(str(error))
    if len(groups) > 1:
        groups.append(("all trainings", [training for _, trainings in groups for training in trainings]))
    for name, trainings in groups:
        steps, counts = sum(one.steps for one in trainings), [len(one.begins) for one in trainings]
        print(HEAD.format(name, len(trainings), steps, sum(count > 0 for count in counts), sum(counts)))
        for rule, of in judge(trainings, options.horizon).items():
            print(row(rule, of))


if __name__ == "__main__":
    main()
