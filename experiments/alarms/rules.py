# SPDX-License-Identifier: Apache-2.0
"""Rules on series of a stored run, which no alarm watches: a threshold and a cumulative sum of each, and trainscope's own."""
import collections
import statistics

import numpy

THRESHOLD = 3.0  # robust deviations
SLACK, LIMIT = 1.0, 6.0  # of the cumulative sum (Page 1954), in deviations
BASELINE = 10  # values before


def inverse(values):
    with numpy.errstate(divide="ignore"):
        return 1 / values


def same(values):
    return values


# What is watched, its series, and what of it rises where trouble comes.
SERIES = (
    ("largest feature", "magnitude/largest", same),
    ("kurtosis of the channels", "magnitude/channel_kurtosis", same),
    ("gate alignment", "weight/alignment_largest", same),
    ("norm of W_d", "weight/down_norm", same),
    ("1 / stable rank of W_d", "weight/down_stable_rank", inverse),
    ("update of W_d", "weight/down_update", same),
    ("weights that did not move", "weight/unchanged", same),
    ("1 / critical step", "step/critical", inverse),
    ("curvature along the step", "hessian/preconditioned_along_gradient", same),
)


def deviations(values):
    """(i, robust deviations of value i above the values before it), once there are enough of them."""
    before = collections.deque(maxlen=BASELINE)
    for i, value in enumerate(values):
        if len(before) == BASELINE and numpy.isfinite(value):
            middle = statistics.median(before)
            spread = 1.4826 * statistics.median(abs(one - middle) for one in before)
            yield i, (value - middle) / max(spread, 1e-12 * abs(middle), 1e-300)
        if numpy.isfinite(value):
            before.append(value)


def above(values):
    """The places where a rise begins: above THRESHOLD, and the value before was not."""
    was = False
    for i, rise in deviations(values):
        if rise > THRESHOLD and not was:
            yield i
        was = rise > THRESHOLD


def accumulated(values):
    """Those where the cumulative sum of the deviations beyond SLACK reaches LIMIT, after which it begins anew."""
    total = 0.0
    for i, rise in deviations(values):
        total = max(0.0, total + rise - SLACK)
        if total >= LIMIT:
            yield i
            total = 0.0


def of_series(all_series):
    """[(step, rule)] of SERIES, wherever one layer breaks the rule."""
    found = set()
    for name, series, rising in SERIES:
        for one in (one for one in all_series if one.name == series):
            steps, values = one.step.numpy(), rising(one.value.numpy())
            for rule, places in ((f"{name} rose by 3 deviations", above), (f"{name}, cumulative sum", accumulated)):
                found |= {(int(steps[i]), rule) for i in places(values)}
    return sorted(found)


def of_trainscope(all_series):
    """[(step, rule)] of the detectors of the package trainscope on the loss, where it is installed."""
    try:
        from trainscope.core.detectors import ChangePointDetector, ZScoreDetector
    except ImportError:
        return []
    found = []
    for one in (one for one in all_series if one.name == "loss/train" and not one.layer):
        for name, detector in (("z-score", ZScoreDetector()), ("change point", ChangePointDetector())):
            for step, value in zip(one.step.tolist(), one.value.tolist()):
                if numpy.isfinite(value) and detector.update(value) is not None:
                    found.append((step, f"trainscope: {name}"))
    return found
