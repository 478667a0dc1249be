# SPDX-License-Identifier: Apache-2.0
"""How much longer a step could be: the loss along an optimiser's own update, by forward passes."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ._library import call
from ._losses import Answer, Batches, source_of
from ._parameters import Parameters, named_parameters, unchanged
from ._processes import group_for_calls, is_sharded, name_of
from ._shown import Shown


@dataclass(frozen=True, eq=False, repr=False)
class CriticalStep(Shown):
    """The multiple of a step at which the loss is back where it was before it."""

    value: float
    """Where the parabola through the losses before the step and at both bounds is back; NaN without
    a bound on both sides."""
    lower: float
    """The loss at this multiple is not above that before the step, as measured."""
    upper: float
    """And here it is above; inf: it was nowhere above."""
    rate: float | None
    """The learning rate of the step, where it was given."""
    status: str
    """"resolved": upper and lower differ by tol at most; "max_evaluations": by more; "not_reached":
    the loss was not above that before the step at any multiple tried; "ascends": it was above at
    all, of which `upper` is the smallest."""
    points: list[tuple[float, float]]
    """The multiples that were tried, in their order, with their losses; the first is 0."""
    evaluations: int

    @property
    def critical_rate(self) -> float | None:
        """The learning rate from which on this step would have raised the loss."""
        return None if self.rate is None else self.value * self.rate

    @property
    def sharpness(self) -> float | None:
        """2 / critical_rate: along an update u of a quadratic loss uᵀHu / gᵀu, for gradient descent
        gᵀHg / gᵀg; at most the largest eigenvalue of P^(-1/2) H P^(-1/2) for u = P⁻¹ g."""
        rate = self.critical_rate
        if rate is None:
            return None
        return 2 / rate if rate else math.inf

    def table(self) -> list[dict[str, Any]]:
        return [{"multiple of the step": s, "loss": loss} for s, loss in self.points]

    def _draw(self, ax: Any) -> None:
        points = sorted(self.points)
        ax.plot([s for s, _ in points], [loss for _, loss in points], marker="o")
        ax.axhline(self.points[0][1], linestyle=":", linewidth=1)
        ax.axvspan(self.lower, min(self.upper, points[-1][0]), alpha=0.3)
        ax.set(xlabel="multiple of the step", ylabel="loss", title=self.status)

    def __repr__(self) -> str:
        span = f"{self.value:.3g} in [{self.lower:.3g}, {self.upper:.3g}] times the step"
        if self.rate is not None:
            span += f", critical rate {self.critical_rate:.3g}, sharpness {self.sharpness:.3g}"
        return f"CriticalStep({span}; {self.status}, {self.evaluations} evaluations)"


def critical_step(
    loss: Callable[..., Tensor],
    params: Parameters,
    before: Iterable[Tensor] | Mapping[str, Tensor],
    *,
    rate: float | None = None,
    batches: Batches | None = None,
    tol: float = 0.5,
    max_evaluations: int = 8,
    only: str | None = None,
    group: Any = None,
) -> CriticalStep:
    """The multiple of a step at which the loss is again what it was before the step.

        before = [p.detach().clone() for p in model.parameters()]
        optimizer.step()
        kappascope.critical_step(loss, model, before, rate=lr)

    It takes forward passes alone, so that fused attention, compiled models and half precision are
    no hindrance, and the update is what the optimiser made of the gradient, with momentum, clipping
    and weight decay. 2 over the critical rate is the critical sharpness (arXiv 2601.16979).

    loss: loss(), or loss(batch) with batches, as for spectrum(); best of the data that made the
        step. Each evaluation begins with the same random states, so that dropout draws one mask; a
        loss that differs between two evaluations all the same is refused.
    params: at their values after the step. They are displaced, and put back bit for bit.
    before: the values before the step, in the order of the parameters or by name.
    rate: the step's learning rate, for critical_rate and sharpness.
    tol: on upper / lower - 1.
    max_evaluations: forward passes over all batches, two of them before the step.
    group: the processes that make this call together, each with a loss on data of its own and whole
        parameters, as for spectrum(): the loss is their mean.

    Memory: two copies of the parameters beside `before`. Raises ValueError for arguments that do not
    fit, and Error where the loss is not finite before the step, or not deterministic.
    """
    if max_evaluations < 3 or not tol > 0:
        raise ValueError("at least 3 evaluations and a positive tol are needed")
    named = named_parameters(params, only)
    start = _before(before, named)
    if any(map(is_sharded, named.values())):
        raise ValueError("the parameters are sharded over processes: their step is not looked along")
    if isinstance(loss, Tensor):
        raise ValueError("pass the loss as a callable: it is evaluated along the step")
    own = group_for_calls(group)
    with source_of(loss, batches, "hessian") as source:

        def evaluate(batch: int) -> Tensor:
            assert source.evaluate is not None
            with torch.no_grad(), unchanged(params, named):
                return source.evaluate(batch)

        answer = Answer(evaluate)
        value, lower, upper, status, points, evaluations = call(
            "critical_step",
            answer.number,
            source.rows,
            list(named.values()),
            list(named),
            start,
            tol,
            max_evaluations,
            name_of(own),
        )
    tried = [(s, found) for s, found in points.tolist()]
    return CriticalStep(value, lower, upper, rate, status, tried, evaluations)


def _before(
    before: Iterable[Tensor] | Mapping[str, Tensor], named: dict[str, Tensor]
) -> list[Tensor]:
    if isinstance(before, Mapping):
        missing = [name for name in named if name not in before]
        if missing:
            raise ValueError(f"before: {missing[0]} is missing")
        given = [before[name] for name in named]
    else:
        given = list(before)
    if len(given) != len(named):
        raise ValueError(f"before: {len(given)} tensors for {len(named)} parameters")
    for value, (name, p) in zip(given, named.items(), strict=True):
        if value.shape != p.shape:
            raise ValueError(f"before: {name} is {list(p.shape)}, not {list(value.shape)}")
    return [value.detach() for value in given]
