#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lead time and false-alarm rate of stored alarms, against two plain rules (experiments/ALARMS.md).

    judge.py FOLDER... [--horizon 50]      with the package kappascope and NumPy

A FOLDER holds the runs of one problem; several are judged each and together. A spike is a training
loss 8 robust deviations above the 50 calm ones before it, or one that is not finite. An alarm warns
of a spike that begins within the horizon after it, and is false where none does. Alarms within a
spike, and those of the first 50 steps, do not count. Chance is the rule's own alarms of each training,
shifted in a circle by every number of steps. Intervals: 95 %, over resampled trainings; that of
"ahead of the plain rules" is shared among all rules (Bonferroni).
"""
import argparse
import pathlib

import kappascope
import numpy

FIRST = 50  # steps before which no spike is known
PLAIN = ("loss rose by 2 deviations", "gradient norm rose by 2 deviations")
FEWEST = 5  # trainings with a spike, or an alarm, for an interval


def spikes(values, threshold=8.0, end=4.0, window=50):
    """[(first, last)] of the runs of values far above the calm ones before them."""
    calm, found, begin, below = [], [], None, 0
    for i, value in enumerate(numpy.nan_to_num(values, nan=numpy.inf)):
        if begin is not None:
            below = 0 if value >= limits[1] else below + 1
            if below < window // 5:
                continue
            found.append((begin, i - below))
            begin, below = None, 0
        if len(calm) == window:
            middle = numpy.median(calm)
            spread = 1.4826 * numpy.median(numpy.abs(numpy.array(calm) - middle))
            limits = [middle + max(times * spread, 1e-12 * abs(middle)) for times in (threshold, end)]
            if value > limits[0]:
                begin = i
                continue
            calm.pop(0)
        if numpy.isfinite(value):
            calm.append(value)
    return found if begin is None else [*found, (begin, len(values) - 1)]


class Training:
    def __init__(self, folder):
        run = kappascope.read(folder)
        series = {one.name: one for one in run.series() if not one.layer}
        loss, norm = series["loss/train"], series.get("gradient_norm")
        self.steps = max(0, int(loss.steps[-1]) + 1 - FIRST)
        at = numpy.asarray(loss.steps) - FIRST
        self.spikes = [(at[a], at[b]) for a, b in spikes(loss.values)]
        rises = {PLAIN[0]: loss, PLAIN[1]: norm}
        self.alarms = {
            rule: [one.steps[a] - FIRST for a, _ in spikes(one.values, 2.0, 1.0)] if one else []
            for rule, one in rises.items()
        }
        for step, kind, _ in run.events:
            if kind.startswith("alarm/"):
                self.alarms.setdefault(kind.removeprefix("alarm/"), []).append(step - FIRST)

    def before(self, rule):
        """Whether the rule speaks at each step of the training, outside of spikes."""
        marks = numpy.zeros(self.steps, bool)
        for step in self.alarms.get(rule, []):
            if 0 <= step < self.steps and not any(a <= step <= b for a, b in self.spikes):
                marks[step] = True
        return marks

    def sums(self, rule, horizon):
        """[spikes, alarms, false, warned, by chance, ahead, ahead by chance], and the lead times."""
        marks, leads = self.before(rule), []
        plain = [self.before(other) for other in PLAIN if other != rule]
        begins = [a for a, _ in self.spikes]
        false = sum(not any(s < a <= s + horizon for a in begins) for s in numpy.flatnonzero(marks))
        out = numpy.array([len(begins), marks.sum(), false, 0, 0, 0, 0], float)
        for begin in begins:
            low = max(0, begin - horizon)
            said = numpy.flatnonzero(marks[low:begin])
            first = min([begin, *(low + numpy.flatnonzero(p[low:begin])[:1] for p in plain if p[low:begin].any())])
            out[3:] += [said.size > 0, chance(marks, low, begin), marks[low:first].any(), chance(marks, low, first)]
            leads += [begin - low - said[0]] if said.size else []
        return out, leads


def chance(marks, low, high):
    """The share of all circular shifts of the marks with one in [low, high)."""
    if high <= low or not marks.any():
        return 0.0
    total = numpy.concatenate(([0], numpy.cumsum(numpy.tile(marks, 2))))
    starts = (low + numpy.arange(marks.size)) % marks.size
    return float((total[starts + (high - low)] > total[starts]).mean())


def shares(sums):
    with numpy.errstate(divide="ignore", invalid="ignore"):
        spikes_, alarms, false, warned, by_chance, ahead, ahead_by_chance = numpy.moveaxis(sums, -1, 0)
        return numpy.stack([false / alarms, (warned - by_chance) / spikes_, (ahead - ahead_by_chance) / spikes_])


def judge(trainings, horizon):
    rules = sorted({rule for training in trainings for rule in training.alarms})
    draws = numpy.random.default_rng(1).integers(len(trainings), size=(4000, len(trainings)))
    for rule in rules:
        each, leads = zip(*(training.sums(rule, horizon) for training in trainings))
        each, leads = numpy.array(each), [lead for some in leads for lead in some]
        drawn = shares(each[draws].sum(axis=1))
        tail = 0.025 / (len(rules) - len(PLAIN) or 1)
        cells = []
        for k, value in enumerate(shares(each.sum(axis=0))):
            enough = (each[:, 1 if k == 0 else 0] > 0).sum() >= FEWEST
            low, high = numpy.nanquantile(drawn[k], [tail if k == 2 else 0.025, 0.975]) if enough else (numpy.nan,) * 2
            cells.append(f"{100 * value:.0f} [{100 * low:.0f}, {100 * high:.0f}]")
        lead = f"{numpy.median(leads):.0f}" if leads else "–"
        print(f"| {rule} | {each[:, 1].sum():.0f} | {cells[0]} | {cells[1]} | {lead} | {cells[2]} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--horizon", type=int, default=50, help="steps before a spike in which an alarm warns of it")
    options = parser.parse_args()
    groups = {
        folder.name: [Training(run.parent) for run in sorted(folder.rglob("run.sqlite")) if run.parent.name != "study"]
        for folder in options.folders
    }
    groups["all trainings"] = [training for trainings in groups.values() for training in trainings]
    for name, trainings in groups.items():
        with_spikes = sum(bool(training.spikes) for training in trainings)
        print(f"\n## {name}\n\n{len(trainings)} trainings, {with_spikes} with a spike.\n")
        print("| rule | alarms | false, % | warned of less chance, % | lead, steps | ahead of the plain rules less chance, % |")
        print("|---|--:|--:|--:|--:|--:|")
        judge(trainings, options.horizon)


if __name__ == "__main__":
    main()
