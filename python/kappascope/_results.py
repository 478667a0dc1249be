# SPDX-License-Identifier: Apache-2.0
"""What comes out: values with their error, and in words what they are worth."""

import html
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ._shown import Shown, finite_log

def _cost(products: int, kind: str, seconds: float) -> str:
    return f"{products} products ({kind}), {seconds:.3g} s"


@dataclass(frozen=True)
class RitzValue:
    """A value of the projection on the Krylov space: an eigenvalue lies within `residual` of it."""

    value: float
    residual: float


@dataclass(frozen=True, eq=False, repr=False)
class Spectrum(Shown):
    """Extreme eigenpairs, by value in descending order. k = 0 where status is "non_finite"."""

    eigenvalues: Tensor
    """[k], float64."""
    eigenvectors: Tensor | None
    """[k, n], orthonormal rows in the parameters' type (float32 where that is shorter) and on their
    device; row i belongs to value i. None where they were not asked for."""
    residuals: Tensor
    """[k], float64: ‖A v - value v‖, by one more product each."""
    bounds: Tensor
    """[k], float64: how far from an eigenvalue each value can be; residual and rounding."""
    reach: Tensor
    """[k], float64: how far from it an eigenvalue may have been missed. With probability 95 % over
    the random start, all eigenvalues beyond value i at its end lie within reach[i] of those found,
    so that it is the next; those closer together count as one. 0: by the whole space, for certain;
    inf: nothing is known."""
    tolerances: Tensor
    """[k], float64: the error that was asked for of each, or what noise allows."""
    status: str
    """"converged", "max_products", "interrupted", "non_finite" or "inconsistent"."""
    products: int
    """All products with the operator."""
    product_kind: str
    """Which product ran: "graph kept"."""
    seconds: float
    """Wall time of the whole call."""
    operator: str
    which: str
    """The ends that were asked for: "largest", "smallest" or "both"."""
    multiplicity_checked: bool
    """Each eigenvalue comes as often as it occurs; without it a repeated one comes once."""
    room_for_vectors: int
    """How many vectors memory left room for, where that was fewer than max_basis; 0: no limit."""
    packed_vectors: bool
    """The vectors were held in 16 bits a number, for want of memory; the residuals are those of
    products in full precision."""
    other_end: RitzValue | None
    """Where one end was asked for, the extreme Ritz value at the other one: the eigenvalue there is
    at this value or beyond it. None where the space held nothing but the wanted pairs."""
    tolerance: float
    """Asked for: residual / outermost magnitude of the same end."""
    product_noise: float
    """Relative error of one product."""
    certificate: str
    """In words, a sentence a line: what each value is worth, which are certified to be the extreme
    ones, and what was not looked for."""
    stability_limit: float | None
    """With optimizer=: its steps are stable along eigenvectors with values below this."""
    shapes: dict[str, torch.Size]
    """Of the parameters, by name, in the order in which their entries make up a vector; of this
    process's shards, where parameters are sharded."""

    @property
    def certified(self) -> Tensor:
        """[k], bool: the value is certified to be the extreme one of its rank; another only lies
        near some eigenvalue."""
        return self.reach <= self.tolerances

    def named_vector(self, i: int) -> dict[str, Tensor]:
        """Eigenvector i in the shapes of the parameters, as views."""
        if self.eigenvectors is None:
            raise ValueError("this spectrum was computed with vectors=False")
        parts = torch.split(self.eigenvectors[i], [shape.numel() for shape in self.shapes.values()])
        pairs = zip(self.shapes.items(), parts, strict=True)
        return {name: part.view(shape) for (name, shape), part in pairs}

    def shares(self) -> list[dict[str, float]]:
        """Of each eigenvector, the share of its squared length that lies in each parameter; where
        parameters are sharded, in this process's shards: the processes' shares add up to 1."""
        return [
            {name: part.double().square().sum().item() for name, part in named.items()}
            for named in map(self.named_vector, range(self.eigenvalues.numel()))
        ]

    def table(self) -> list[dict[str, Any]]:
        columns = (self.eigenvalues, self.bounds, self.residuals, self.reach, self.certified)
        names = ("eigenvalue", "bound", "residual", "reach", "certified")
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _draw(self, ax: Any) -> None:
        values = self.eigenvalues.tolist()
        ranks = range(1, len(values) + 1)
        ax.errorbar(ranks, values, yerr=self.bounds.tolist(), fmt="o", capsize=4)
        finite_log(ax, "y", values)
        ax.set_xticks(list(ranks))
        ax.set(xlabel="rank", ylabel="eigenvalue", title=f"{self.operator}: {self.status}")

    def __repr__(self) -> str:
        n = sum(shape.numel() for shape in self.shapes.values())
        lines = [
            f"{self.operator} of {n} parameters: {self.status}, "
            + _cost(self.products, self.product_kind, self.seconds)
        ]
        for row in self.table():
            mark = "" if row["certified"] else " ?"
            lines.append(f"  {row['eigenvalue']:>14.6g}  +- {row['bound']:.1e}{mark}")
        lines += self.certificate.splitlines()
        if self.eigenvalues.numel() > 0:
            lines += self._beside_limit()
            largest = float(self.eigenvalues.abs().max())
            if self.other_end is not None:
                largest = max(largest, abs(self.other_end.value))
            lines.append(
                f"Products are good to about {self.product_noise * largest:.1g}; asked for was "
                f"{float(self.tolerances.min()):.1g}."
            )
        return "\n".join(lines)

    def _beside_limit(self) -> list[str]:
        if self.stability_limit is None or self.which == "smallest":
            return []
        share = self.eigenvalues[0].item() / self.stability_limit
        error = self.bounds[0].item() / self.stability_limit
        return [
            f"As the optimizer sees it; its steps are unstable above {self.stability_limit:.4g}, "
            f"and the largest is {share:.3g} +- {error:.1g} of that."
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Density(Shown):
    """Spectral density by stochastic Lanczos quadrature; all tensors are float64 on the host."""

    grid: Tensor
    """[points]"""
    density: Tensor
    """[points]; (1/n) Σ δ(x - λ), smoothed."""
    lower: Tensor
    """[points]; 95 % pointwise."""
    upper: Tensor
    cumulative: Tensor
    """[points]; share of the spectrum at or below each point, with a band of 95 % for all of them
    together (over batches: for each)."""
    cumulative_lower: Tensor
    cumulative_upper: Tensor
    outliers: Tensor
    """[k, 2]; eigenvalues apart from the bulk, descending, with their bounds."""
    outlier_count: float
    """How many lie there, with their multiplicity, as their mass says, and its error."""
    outlier_count_stderr: float
    nodes: Tensor
    """Ritz values of all start vectors."""
    weights: Tensor
    """Of the nodes; they sum to 1."""
    negative_mass: float
    """Share of the spectrum below zero (by more than rounding), with the band of `cumulative`."""
    negative_mass_lower: float
    negative_mass_upper: float
    near_zero_mass: float
    """Share within 1e-3 of the largest magnitude, with the band of `cumulative`."""
    near_zero_mass_lower: float
    near_zero_mass_upper: float
    trace: float
    """By the same vectors, with its standard error and 95 % interval, which holds from one on."""
    trace_stderr: float
    trace_lower: float
    trace_upper: float
    status: str
    """"converged" or "non_finite"; a density has no residual, its error is the band."""
    products: int
    product_kind: str
    seconds: float

    def table(self) -> list[dict[str, Any]]:
        columns = zip(
            self.grid.tolist(),
            self.density.tolist(),
            self.lower.tolist(),
            self.upper.tolist(),
            strict=True,
        )
        return [{"eigenvalue": a, "density": b, "lower": c, "upper": d} for a, b, c, d in columns]

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>"  # a table of the grid tells nobody anything

    def _draw(self, ax: Any) -> None:
        ax.plot(self.grid, self.density)
        ax.fill_between(self.grid, self.lower, self.upper, alpha=0.3, label="95 %")
        for value, _ in self.outliers.tolist():
            ax.axvline(value, linestyle=":", linewidth=1)
        ax.set_yscale("log")
        top = self.density.max().item()
        ax.set_ylim(top * 1e-8, top * 3)  # what lies below is the tail of the smoothing
        ax.legend()
        ax.set(xlabel="eigenvalue", ylabel="density", title="spectral density")

    def __repr__(self) -> str:
        return (
            f"Density({self.status}, {_cost(self.products, self.product_kind, self.seconds)}; "
            f"negative mass in [{self.negative_mass_lower:.3g}, {self.negative_mass_upper:.3g}], "
            f"near zero in [{self.near_zero_mass_lower:.3g}, {self.near_zero_mass_upper:.3g}], "
            f"trace {self.trace:.6g} in [{self.trace_lower:.6g}, {self.trace_upper:.6g}] (95 %))"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Shown):
    """The trace by Hutch++."""

    value: float
    standard_error: float
    """Over the random vectors."""
    lower: float
    """95 %, Student's t."""
    upper: float
    vectors: int
    """Random vectors behind the value; others determined how many were needed."""
    status: str
    """"converged": the error was reached; "max_products": it was not; "non_finite": no numbers."""
    products: int
    product_kind: str
    seconds: float

    def table(self) -> list[dict[str, Any]]:
        return [{"trace": self.value, "lower": self.lower, "upper": self.upper}]

    def _draw(self, ax: Any) -> None:
        reach = [[self.value - self.lower], [self.upper - self.value]]
        ax.errorbar([self.value], [0], xerr=reach, fmt="o", capsize=4)
        ax.set_yticks([])
        ax.set(xlabel="trace, 95 %", title=self.status)

    def __repr__(self) -> str:
        return (
            f"Trace({self.value:.6g} in [{self.lower:.6g}, {self.upper:.6g}] (95 %), "
            f"standard error {self.standard_error:.2g}; {self.status}, "
            f"{_cost(self.products, self.product_kind, self.seconds)})"
        )
