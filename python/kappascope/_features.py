# SPDX-License-Identifier: Apache-2.0
"""Condition numbers of the features that enter a down-projection."""

import math
import time
from dataclasses import dataclass, fields
from typing import Any, Literal

from torch import Tensor

from ._library import call
from ._shown import Shown, draw_intervals

# In the order in which the operator gives them.
_ESTIMATES = (
    "sigma",
    "second_moment",
    "with_bias",
    "sigma_scaled",
    "second_moment_scaled",
    "with_bias_scaled",
)
_SHAPES = ("effective_rank", "stable_rank", "isotropy")
_STATUSES = {
    "resolved": "resolved",
    "biased": "biased",
    "not_resolvable": "not resolvable",
    "degenerate": "degenerate",
}


@dataclass(frozen=True)
class Kappa:
    """A condition number λmax/λmin as what it is, an estimate."""

    value: float
    """Of the sample; inf where it is singular, NaN where there is none (no rows, no variance)."""
    lower: float
    """Interval for the population's, within [1, inf]."""
    upper: float
    status: str
    """"resolved": within a factor of 2 either way; "biased": up to 100, dominated by sampling;
    "not_resolvable": too few rows, or rounding; "degenerate": a null space, or no rows."""
    reason: str
    """Why it is not resolved; empty where it is."""
    shrunk: float
    """Of the Ledoit-Wolf shrinkage of the same matrix: finite for fewer rows than features."""
    on_range: float
    """Without the null space (dead and constant features)."""
    lambda_max: float
    lambda_min: float
    null_dimension: int
    n_effective: float
    """Rows, less what their dependence within sequences, or exact copies, take away."""

    def __str__(self) -> str:
        return (
            f"{self.value:>12.6g}  in [{self.lower:.4g}, {self.upper:.4g}]  "
            f"{_STATUSES.get(self.status, self.status)}"
        )


@dataclass(frozen=True)
class SpectralEstimate:
    """A number that sums up the spectrum of the population's Σ, as an estimate."""

    value: float
    """Corrected for what a sample's spectrum adds (not the stable rank's); NaN where not resolved."""
    lower: float
    upper: float
    status: str
    """As of Kappa."""

    def __str__(self) -> str:
        shown = f"{self.value:.4g} in [{self.lower:.4g}, {self.upper:.4g}]"
        if self.status == "resolved":
            return shown
        return f"{shown} ({_STATUSES.get(self.status, self.status)})"


@dataclass(frozen=True, repr=False)
class Conditioning(Shown):
    """The condition numbers of features φ [n, d] with mean μ and covariance Σ (divisor n)."""

    sigma: Kappa
    """κ(Σ): of centred features."""
    second_moment: Kappa
    """κ(Σ+μμᵀ): of the Hessian block of the down-projection without a bias."""
    with_bias: Kappa
    """κ(Σ+(μ+b)(μ+b)ᵀ): of that block with the post-gating bias b; as second_moment without one."""
    sigma_scaled: Kappa
    """The same three after scaling each matrix to unit diagonal, as Adam does to a quadratic."""
    second_moment_scaled: Kappa
    with_bias_scaled: Kappa
    rows: int
    """That entered."""
    nonfinite_rows: int
    """Left out because of a NaN or an infinity."""
    features: int
    taken_as_independent: bool
    """No sequences were given. Intervals are too narrow where rows depend on one another all the
    same: only exact copies are noticed."""
    effective_rank: SpectralEstimate
    """exp of the entropy of Σ's spectrum."""
    stable_rank: SpectralEstimate
    """tr Σ / λmax."""
    isotropy: SpectralEstimate
    """(tr Σ)² / (d tr Σ²): 1 when isotropic."""
    mean_leverage: float
    """The share of a constant that the features make without a bias: m/(1+m), m = μᵀΣ⁻¹μ."""
    kurtosis: float
    """Of the whitened features, 3 for a Gaussian: heavy tails widen the intervals."""
    constant_features: int
    dead_features: int
    """Constant, and zero."""
    confidence: float
    route: str
    """"decomposition", for wide layers "factorisation", by `method="qr"` "singular values"."""
    seconds: float
    """Wall time of the whole call."""

    def _named(self) -> dict[str, Kappa]:
        return {
            "κ(Σ)": self.sigma,
            "κ(Σ+μμᵀ)": self.second_moment,
            "κ(Σ+(μ+b)(μ+b)ᵀ)": self.with_bias,
        }

    def table(self) -> list[dict[str, Any]]:
        return [
            {"of": name, "kappa": k.value, "lower": k.lower, "upper": k.upper, "status": k.status}
            for name, k in self._named().items()
        ]

    def _draw(self, ax: Any) -> None:
        shown = [(name, k) for name, k in self._named().items() if math.isfinite(k.value)]
        draw_intervals(ax, shown, f"condition number, {100 * self.confidence:g} %")

    def __repr__(self) -> str:
        shown = self._named()
        left_out = f" ({self.nonfinite_rows} not finite, left out)" if self.nonfinite_rows else ""
        taken = ", taken as independent" if self.taken_as_independent else ""
        lines = [
            f"{self.features} features, {self.rows} rows{left_out}{taken}: condition numbers with "
            f"{100 * self.confidence:g} % intervals"
        ]
        lines += [f"  {name:<17}{kappa}" for name, kappa in shown.items()]
        for reason in dict.fromkeys(kappa.reason for kappa in shown.values() if kappa.reason):
            lines.append(f"  {reason}")
        lines.append(
            f"effective rank {self.effective_rank}, stable rank {self.stable_rank}, isotropy "
            f"{self.isotropy}; {self.route}, {self.seconds:.3g} s"
        )
        return "\n".join(lines)


def check_features(X: Tensor, bias: Tensor | None, rows_per_group: int | None) -> None:
    """Raises ValueError for arguments that cannot be features, their bias and their sequences."""
    for name, tensor in (("X", X), ("bias", bias)):
        if tensor is None and name == "bias":
            continue
        if not isinstance(tensor, Tensor):
            hint = ": torch.as_tensor() makes one" if hasattr(tensor, "__array__") else ""
            raise ValueError(f"{name} must be a tensor, got a {type(tensor).__name__}{hint}")
        if not tensor.is_floating_point():
            raise ValueError(f"{name} must be of a floating-point type, got {tensor.dtype}")
    if X.dim() not in (2, 3):
        raise ValueError(f"X must be [rows, d] or [sequences, tokens, d], got {list(X.shape)}")
    if bias is not None and bias.shape != X.shape[-1:]:
        raise ValueError(f"bias must be [{X.shape[-1]}] for {list(X.shape)}, got {list(bias.shape)}")
    if rows_per_group is not None and rows_per_group < 1:
        raise ValueError(f"rows_per_group must be at least 1, got {rows_per_group}")


def kappa(
    X: Tensor,
    bias: Tensor | None = None,
    *,
    rows_per_group: int | None = None,
    confidence: float = 0.95,
    sample_rows: int = 512,
    seed: int = 0,
    method: Literal["gram", "qr"] = "gram",
) -> Conditioning:
    """Condition numbers of features, with intervals: κ(Σ), κ(Σ+μμᵀ) and κ(Σ+(μ+b)(μ+b)ᵀ).

    X: the features that enter a down-projection, [n, d] or [sequences, tokens, d], on any device,
        of a floating-point type. Rows with a NaN or an infinity are counted and left out.
    bias: the post-gating bias b, [d].
    rows_per_group: so many rows follow each other and depend on one another; None: the tokens of a
        sequence where X has three dimensions, 1 (independent rows) where it has two.
    confidence: of the intervals.
    sample_rows: rows kept to see how heavy the tails are; 0 takes them for Gaussian.
    method: "gram" decomposes the covariance, in which double precision holds no κ above about 1e15.
        "qr" takes singular values of the rows, on the host in double, and holds one of up to 1e30:
        for nearly collinear features. It costs 2 n d² + 25 d³ operations and a copy of the rows.

    Raises ValueError for arguments of a wrong kind or shape, Error where they do not fit together.
    What the numbers are worth is in their status and reason. Cost: a product XᵀX and, for d below
    1,024, an eigendecomposition; from there on one Cholesky factor and a few hundred products.
    """
    check_features(X, bias, rows_per_group)
    if sample_rows < 0:
        raise ValueError(f"sample_rows must not be negative, got {sample_rows}")
    if method not in ("gram", "qr"):
        raise ValueError(f'method must be "gram" or "qr", got {method!r}')
    began = time.perf_counter()
    numbers, statuses, reasons, route = call(
        "kappa",
        X,
        bias,
        rows_per_group=rows_per_group or 0,
        confidence=confidence,
        sample_rows=sample_rows,
        seed=seed,
        from_rows=method == "qr",
    )
    estimates: dict[str, Any] = {}
    of_estimates, of_shapes = statuses[: len(_ESTIMATES)], statuses[len(_ESTIMATES) :]
    for i, (name, status, reason) in enumerate(zip(_ESTIMATES, of_estimates, reasons, strict=True)):
        values = {f.name: numbers[f.name][i].item() for f in fields(Kappa) if f.name in numbers}
        values["null_dimension"] = int(values["null_dimension"])
        estimates[name] = Kappa(**values, status=status, reason=reason)
    scalars: dict[str, Any] = {name: x.item() for name, x in numbers.items() if x.dim() == 0}
    for name in ("rows", "nonfinite_rows", "constant_features", "dead_features"):
        scalars[name] = int(scalars[name])
    shapes = numbers["shape"].tolist()
    for name, row, status in zip(_SHAPES, shapes, of_shapes, strict=True):
        estimates[name] = SpectralEstimate(*row, status)
    return Conditioning(
        **estimates,
        **scalars,
        features=X.shape[-1],
        taken_as_independent=rows_per_group == 1 or (rows_per_group is None and X.dim() == 2),
        confidence=confidence,
        route=route,
        seconds=time.perf_counter() - began,
    )
