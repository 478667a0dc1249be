# SPDX-License-Identifier: Apache-2.0
"""A row of the table, and the data sets that its numbers are taken of."""

import numpy as np
from sklearn import datasets


def rows_of(name):
    found = getattr(datasets, f"load_{name}")()
    return found.data.astype(float), found.target


def relative(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return float(np.max(np.abs(a - b)) / np.max(np.abs(b)))


def row(what, truth, difference, limit, holds=None):
    holds = difference <= limit if holds is None else holds
    said = difference if isinstance(difference, str) else f"{difference:.1e}"
    wanted = limit if isinstance(limit, str) else f"{limit:.0e}"
    return f"| {what} | {truth} | {said} | {wanted} | {'yes' if holds else 'NO'} |", holds
