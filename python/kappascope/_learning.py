# SPDX-License-Identifier: Apache-2.0
"""How long gradient descent takes to learn what a layer's features can represent."""

import time
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from ._features import _STATUSES, check_features
from ._library import call
from ._shown import Shown, draw_intervals

_MATRICES = ("sigma", "second_moment", "with_bias")
_SHARES = ("half", "ninety", "ninety_nine")


@dataclass(frozen=True)
class Steps:
    """A number of steps of gradient descent, at least one, as an estimate."""

    value: float
    """NaN where the rows do not resolve it; `lower` is then what is known."""
    lower: float
    upper: float
    """inf where the rows do not resolve it."""
    status: str
    """As of Kappa."""
    reason: str
    """Why it is not resolved; empty where it is."""

    def __str__(self) -> str:
        shown = f"{self.value:>8.4g}  in [{self.lower:.4g}, {self.upper:.4g}]"
        return shown if self.status == "resolved" else f"{shown}  {_STATUSES[self.status]}"


@dataclass(frozen=True)
class Ratio:
    """A quotient of two numbers of steps to 90 %, errors in pairs; NaN where it is not known."""

    value: float
    lower: float
    upper: float

    def __str__(self) -> str:
        return f"{self.value:.4g} in [{self.lower:.4g}, {self.upper:.4g}]"


@dataclass(frozen=True)
class LearningTime:
    """Steps until half, 90 % and 99 % of what the features can represent is learned."""

    half: Steps
    ninety: Steps
    ninety_nine: Steps


@dataclass(frozen=True, repr=False)
class Learning(Shown):
    """Learning times of the three matrices of features φ [n, d] with mean μ and covariance Σ."""

    sigma: LearningTime
    """Of Σ: the mean absorbed."""
    second_moment: LearningTime
    """Of Σ+μμᵀ: the down-projection's block without a bias."""
    with_bias: LearningTime
    """Of Σ+(μ+b)(μ+b)ᵀ, with the post-gating bias b; as second_moment without one."""
    mean_costs: Ratio
    """Steps to 90 % of Σ+μμᵀ over those of Σ."""
    bias_leaves: Ratio
    """Those of Σ+(μ+b)(μ+b)ᵀ over those of Σ."""
    bias_changes: Ratio
    """Those of Σ+(μ+b)(μ+b)ᵀ over those of Σ+μμᵀ."""
    rows: int
    """That entered."""
    groups: int
    """Sequences that they came in; rows where they are independent."""
    nonfinite_rows: int
    """Left out because of a NaN or an infinity."""
    features: int
    confidence: float
    seconds: float
    """Wall time of the whole call."""

    def _named(self) -> dict[str, LearningTime]:
        return {
            "Σ": self.sigma,
            "Σ+μμᵀ": self.second_moment,
            "Σ+(μ+b)(μ+b)ᵀ": self.with_bias,
        }

    def table(self) -> list[dict[str, Any]]:
        return [
            {
                "of": name,
                "share": share,
                "steps": steps.value,
                "lower": steps.lower,
                "upper": steps.upper,
                "status": steps.status,
            }
            for name, found in self._named().items()
            for share, steps in zip((0.5, 0.9, 0.99), (getattr(found, s) for s in _SHARES), strict=True)
        ]

    def _draw(self, ax: Any) -> None:
        shown = [(name, found.ninety) for name, found in self._named().items()]
        draw_intervals(ax, shown, f"steps to learn 90 %, {100 * self.confidence:g} %")

    def __repr__(self) -> str:
        left_out = f" ({self.nonfinite_rows} not finite, left out)" if self.nonfinite_rows else ""
        came = "independent" if self.groups == self.rows else f"in {self.groups} sequences"
        lines = [
            f"{self.features} features, {self.rows} rows{left_out}, {came}: steps of gradient descent "
            f"to learn 90 %, with {100 * self.confidence:g} % intervals"
        ]
        named = self._named()
        lines += [f"  {name:<14}{found.ninety}" for name, found in named.items()]
        for reason in dict.fromkeys(f.ninety.reason for f in named.values() if f.ninety.reason):
            lines.append(f"  {reason}")
        lines.append(f"the mean costs {self.mean_costs}; {self.seconds:.3g} s")
        return "\n".join(lines)


def learning(
    X: Tensor,
    bias: Tensor | None = None,
    *,
    rows_per_group: int | None = None,
    confidence: float = 0.95,
    scaled: bool = False,
    seed: int = 0,
) -> Learning:
    """Steps of gradient descent until what features can represent is learned, with intervals.

    With M = Σ, Σ+μμᵀ or Σ+(μ+b)(μ+b)ᵀ, gradient descent at the rate 1/λmax on a squared loss leaves
    after T steps the share R(T) = tr[Σ (1 - M/λmax)^(2T)] / tr Σ of what the features' variation can
    explain of a target with no preferred direction. `ninety` is the T with R(T) = 0.1. A large mean
    makes one eigenvalue large, which limits the rate for all else: `mean_costs` says by how much.
    (The mean's own part is a constant, and learned first; it is not counted.) R weights directions
    by their variance, so that two rows a feature resolve it where κ takes many. It misleads where
    the loss is far from quadratic, the target lies along few directions, or the batch's noise and
    not curvature limits the rate. (Saxe et al. 2014; Pedregosa and Scieur 2020.)

    X: the features that enter a down-projection, [n, d] or [sequences, tokens, d], on any device,
        of a floating-point type. Rows with a NaN or an infinity are counted and left out.
    bias: the post-gating bias b, [d].
    rows_per_group: so many rows follow each other and depend on one another; None: the tokens of a
        sequence where X has three dimensions, 1 (independent rows) where it has two.
    confidence: of the intervals.
    scaled: of the matrices scaled to unit diagonal, as Adam scales a quadratic.
    seed: of the random signs by which traces are estimated.

    Raises ValueError for arguments of a wrong kind or shape, Error where they do not fit together.
    Cost: 2 n d multiply-adds a step and column, 24 steps of 18 columns for wide layers; no d x d
    matrix is formed.
    """
    check_features(X, bias, rows_per_group)
    began = time.perf_counter()
    numbers, statuses, reasons = call(
        "learning",
        X,
        bias,
        rows_per_group=rows_per_group or 0,
        confidence=confidence,
        scaled=scaled,
        seed=seed,
    )
    columns = zip(
        *(numbers[name].tolist() for name in ("value", "lower", "upper")),
        statuses,
        reasons,
        strict=True,
    )
    steps = [Steps(*one) for one in columns]
    times = {
        name: LearningTime(*steps[3 * i : 3 * i + 3]) for i, name in enumerate(_MATRICES)
    }
    costs, leaves, changes = (Ratio(*row) for row in numbers["ratios"].tolist())
    return Learning(
        **times,
        mean_costs=costs,
        bias_leaves=leaves,
        bias_changes=changes,
        rows=int(numbers["rows"]),
        groups=int(numbers["groups"]),
        nonfinite_rows=int(numbers["nonfinite_rows"]),
        features=X.shape[-1],
        confidence=confidence,
        seconds=time.perf_counter() - began,
    )
