# SPDX-License-Identifier: Apache-2.0
"""What an optimizer makes of a gradient: kappascope::preconditioner_of(source) is answered here."""

import inspect
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD, Adam, AdamW, Optimizer, RMSprop

from ._library import call
from ._parameters import Parameters, named_parameters
from ._processes import is_sharded

Seen = tuple[Tensor, float]
"""The diagonal of P^(-1/2), [n], float64 (empty: P = 1), for a step of η P⁻¹ times an average of
gradients; and the eigenvalue of P^(-1/2) H P^(-1/2) from which on that is unstable."""


class Unknown(ValueError):
    """No limit of stability is known, and why."""


def kind_of(optimizer: Optimizer) -> str:
    """What C++ calls it; raises Unknown."""
    step = _step_of(innermost(optimizer))
    for kind, known in (("adam", Adam), ("adam", AdamW), ("rmsprop", RMSprop), ("sgd", SGD)):
        if step is _step_of(known):
            return kind
    raise Unknown(
        f"no limit of stability is known for {type(innermost(optimizer)).__name__}: known are those "
        "of torch.optim's Adam, AdamW, RMSprop and SGD, whose preconditioner is diagonal"
    )


def innermost(optimizer: Any) -> Any:
    """The optimizer that one of another library wraps (accelerate)."""
    while isinstance(inner := getattr(optimizer, "optimizer", None), Optimizer):
        optimizer = inner
    return optimizer


def preconditioner(optimizer: Optimizer, named: Mapping[str, Tensor]) -> Seen:
    """Of these parameters, in their order; raises Unknown."""
    optimizer = innermost(optimizer)
    kind, numbers = _settings_of(optimizer, named)
    second = []
    if kind != "sgd":
        states = [_state_of(optimizer, name, p) for name, p in named.items()]
        second = [_second_of(kind, state) for state in states]
        steps = {float(state["step"]) for state in states}
        if len(steps) > 1:
            raise Unknown("the optimizer has made other numbers of steps for other parameters")
        numbers["steps"] = steps.pop()
    scale, limit = call("preconditioner", kind, second, numbers)
    return scale, limit


def seen_by(
    optimizer: Optimizer | None, params: Parameters, only: str | None
) -> tuple[Tensor | None, float | None]:
    """The scale, None where it is 1, and the limit; None without an optimizer."""
    if optimizer is None:
        return None, None
    scale, limit = preconditioner(optimizer, named_parameters(params, only))
    return (scale if scale.numel() > 0 else None), limit


def why_unknown(optimizer: Optimizer, named: Mapping[str, Tensor]) -> list[str]:
    """Why a run has no curvature as its optimizer sees it; nothing where it has."""
    try:
        _settings_of(innermost(optimizer), named)
    except Unknown as reason:
        return [f"the Hessian is not measured as the optimizer sees it: {reason}"]
    return []


def _settings_of(
    optimizer: Optimizer, named: Mapping[str, Tensor]
) -> tuple[str, dict[str, float]]:
    """Its kind, and its numbers; known before its first step."""
    kind = kind_of(optimizer)
    if kind != "sgd" and any(map(is_sharded, named.values())):
        raise Unknown("its second moments are sharded over processes, as the parameters are")
    return kind, _numbers_of(kind, optimizer, named)


def _step_of(optimizer: Any) -> Any:
    """As it was written; torch wraps it when the first one is made."""
    cls: Any = optimizer if isinstance(optimizer, type) else type(optimizer)
    return inspect.unwrap(cls.step)


def _numbers_of(kind: str, optimizer: Optimizer, named: Mapping[str, Tensor]) -> dict[str, float]:
    groups = {id(p): group for group in optimizer.param_groups for p in group["params"]}
    found: list[dict[str, float]] = []
    for name, parameter in named.items():
        if id(parameter) not in groups:
            raise Unknown(f"the optimizer does not train parameter {name}")
        found.append(_numbers_of_group(kind, groups[id(parameter)]))
        if found[-1] != found[0]:
            raise Unknown("the optimizer has other rates or averages for other parameters")
    return found[0]


def _numbers_of_group(kind: str, group: Mapping[str, Any]) -> dict[str, float]:
    for name in ("amsgrad", "nesterov", "maximize", "dampening"):
        if group.get(name):
            raise Unknown(f"no limit of stability is known with {name}={group[name]}")
    numbers = {"rate": float(group["lr"])}
    if kind == "adam":
        beta1, beta2 = group["betas"]
        return numbers | {"beta1": float(beta1), "beta2": float(beta2), "eps": float(group["eps"])}
    numbers["momentum"] = float(group["momentum"])
    return numbers if kind == "sgd" else numbers | {"eps": float(group["eps"])}


def _state_of(optimizer: Optimizer, name: str, parameter: Tensor) -> Mapping[str, Any]:
    state: Mapping[str, Any] = optimizer.state.get(parameter, {})
    if float(state.get("step", 0)) == 0:
        raise Unknown(f"the optimizer has no second moments of {name} before its first step")
    return state


def _second_of(kind: str, state: Mapping[str, Any]) -> Tensor:
    v: Tensor = state["exp_avg_sq" if kind == "adam" else "square_avg"]
    mean = state.get("grad_avg")
    return v if mean is None else (v.double() - mean.double() ** 2).clamp_min(0)


_asked: "weakref.WeakValueDictionary[int, Callable[[], Seen]]" = weakref.WeakValueDictionary()


def answer_preconditioner(
    source: int, optimizer: Optimizer, named: Mapping[str, Tensor]
) -> Callable[[], Seen]:
    """Answers under this number as long as somebody keeps what it returns."""

    def answer() -> Seen:
        return preconditioner(optimizer, named)

    _asked[source] = answer
    return answer


def _preconditioner_of(source: int) -> Seen:
    try:
        return _asked[source]()
    except Unknown:
        return torch.empty(0, dtype=torch.double), float("nan")


_implementation = torch.library.Library("kappascope", "IMPL")  # type: ignore[no-untyped-call]
_implementation.impl(  # type: ignore[no-untyped-call]
    "preconditioner_of", _preconditioner_of, "CompositeImplicitAutograd"
)
