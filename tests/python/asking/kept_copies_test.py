# SPDX-License-Identifier: Apache-2.0
"""Losses that use what was computed from a parameter before: a right answer or an error that names
the parameter, never a flat direction."""

import contextlib
import itertools
import unittest
from collections.abc import Callable
from typing import Any

import kappascope
import torch
from models import dense_hessian
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrizations, parametrize

DIFFERENCE = "finite difference"


class Attends(nn.Module):
    """Two heads of attention over six tokens, a norm, and a projection."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).view(*x.shape[:2], 3, 2, 4).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.head(self.norm(x + mixed.transpose(1, 2).flatten(2))).mean(1)


class Case:
    def __init__(self) -> None:
        torch.manual_seed(5)
        self.model = Attends()
        self.x = torch.randn(5, 6, 8)
        self.y = torch.randint(4, (5,))

    def loss(self) -> Tensor:
        return functional.cross_entropy(self.model(self.x).float(), self.y)

    def truth(self) -> Tensor:
        model = Attends().double()
        model.load_state_dict(self.model.state_dict())
        backend = torch.nn.attention.SDPBackend.MATH
        with torch.nn.attention.sdpa_kernel(backend):
            return torch.linalg.eigvalsh(
                dense_hessian(
                    model, self.x.double(), lambda out: functional.cross_entropy(out, self.y)
                )
            )


def autocast(kind: torch.dtype | None, cached: bool) -> Any:
    if kind is None:
        return contextlib.nullcontext()
    return torch.autocast("cpu", kind, cache_enabled=cached)


class UnderAutocast(unittest.TestCase):
    def test_wherever_it_stands_and_whatever_is_in_its_cache(self) -> None:
        case = Case()
        truth = case.truth()
        types = (torch.bfloat16, torch.float16)
        caches = ((True, False), (True, True), (False, False))  # without one a warm-up leaves nothing
        for outside, inside, (cached, warm), product in itertools.product(
            (None, *types), (None, *types), caches, ("automatic", DIFFERENCE)
        ):
            if len({outside, inside} - {None}) != 1:
                continue  # LibTorch cannot differentiate a graph of one under the other
            with self.subTest(outside=outside, inside=inside, cached=cached, warm=warm):

                def loss(inside: Any = inside, cached: bool = cached) -> Tensor:
                    with autocast(inside, cached):
                        return case.loss()

                with autocast(outside, cached):
                    if warm:
                        with torch.no_grad():
                            case.loss()
                    found = kappascope.spectrum(
                        loss, case.model, top=1, which="both", product=product, max_products=60
                    )
                for value, bound in zip(found.eigenvalues, found.bounds, strict=True):
                    self.assertLessEqual((truth - value).abs().min(), bound, str(found))
                self.assertGreater(found.eigenvalues[0], 0.5 * truth[-1])

    def test_fused_attention_selects_differences_and_they_are_right(self) -> None:
        case = Case()
        truth = case.truth()[-1]
        with (
            torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION),
            torch.autocast("cpu", torch.bfloat16),
        ):
            found = kappascope.spectrum(case.loss, case.model, top=1)
            trace = kappascope.trace(case.loss, case.model)
        self.assertEqual(found.product_kind, DIFFERENCE)
        self.assertLess(abs(found.eigenvalues[0] - truth), 0.2 * truth)
        self.assertGreater(trace.value, 0)


class Kept(torch.autograd.Function):
    """The value that was kept, with the gradient of the parameter that it was made of."""

    @staticmethod
    def forward(ctx: Any, parameter: Tensor, kept: Tensor) -> Tensor:
        return kept.clone()

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> tuple[Tensor, None]:
        return outer, None


def by_function(parameter: Tensor) -> Callable[[], Tensor]:
    kept = parameter.detach().to(torch.float8_e4m3fn).to(parameter.dtype)
    return lambda: Kept.apply(parameter, kept)  # type: ignore[no-any-return]


def by_straight_through(parameter: Tensor) -> Callable[[], Tensor]:
    kept = (parameter.detach() * 8).round() / 8
    return lambda: parameter + (kept - parameter).detach()


def by_graph(parameter: Tensor) -> Callable[[], Tensor]:
    kept = parameter.to(torch.bfloat16).to(parameter.dtype)
    return lambda: kept


def tied(parameter: Tensor) -> Callable[[], Tensor]:
    kept = parameter.clone()
    return lambda: (kept + parameter) / 2


class ByHand(unittest.TestCase):
    QUESTIONS = (kappascope.spectrum, kappascope.density, kappascope.trace)

    def test_any_parameter_that_a_layer_keeps_a_copy_of_is_named(self) -> None:
        ways = itertools.cycle((by_function, by_straight_through, by_graph))
        for stale, way in zip(dict(Attends().named_parameters()), ways, strict=False):
            case = Case()
            named = dict(case.model.named_parameters())
            copy = way(named[stale])

            def loss(case: Case = case, stale: str = stale, copy: Any = copy) -> Tensor:
                out = torch.func.functional_call(case.model, {stale: copy()}, (case.x,))
                return functional.cross_entropy(out, case.y)

            with self.subTest(way=way.__name__, stale=stale):
                question = self.QUESTIONS[len(stale) % 3]
                with self.assertRaisesRegex(kappascope.Error, f"parameter {stale} "):
                    question(loss, case.model, product=DIFFERENCE)
                rest = {name: p for name, p in named.items() if name != stale}
                found = kappascope.spectrum(loss, rest.items(), top=1, product=DIFFERENCE)
                self.assertGreater(found.eigenvalues[0], 0)

    def test_a_copy_that_is_one_of_two_uses_is_found_by_its_graph(self) -> None:
        case = Case()
        copy = tied(case.model.head.weight)

        def loss() -> Tensor:
            out = torch.func.functional_call(case.model, {"head.weight": copy()}, (case.x,))
            return functional.cross_entropy(out, case.y)

        with self.assertRaisesRegex(kappascope.Error, "parameter head.weight "):
            kappascope.spectrum(loss, case.model, product=DIFFERENCE)

    def test_parametrisations_are_right_and_their_cache_is_refused(self) -> None:
        for register in (parametrizations.weight_norm, parametrizations.orthogonal):
            case = Case()
            register(case.model.head)
            exact = kappascope.spectrum(case.loss, case.model, top=1, product="automatic")
            found = kappascope.spectrum(case.loss, case.model, top=1, product=DIFFERENCE)
            self.assertLess(
                abs(found.eigenvalues[0] - exact.eigenvalues[0]),
                found.bounds[0] + exact.bounds[0] + 0.02 * exact.eigenvalues[0],
            )
            with (
                parametrize.cached(),
                self.assertRaisesRegex(kappascope.Error, "parameter head.parametrizations"),
            ):
                kappascope.spectrum(case.loss, case.model, top=1, product=DIFFERENCE)

                def again() -> Tensor:  # fills the cache at its first evaluation
                    return case.loss()

                kappascope.spectrum(again, case.model, top=1, product=DIFFERENCE)

    def test_compiled_losses_follow_the_parameters(self) -> None:
        case = Case()
        exact = kappascope.spectrum(case.loss, case.model, top=1, product=DIFFERENCE)
        compiled = torch.compile(case.loss, backend="aot_eager")
        found = kappascope.spectrum(compiled, case.model, top=1, product=DIFFERENCE)
        self.assertLess(abs(found.eigenvalues[0] - exact.eigenvalues[0]), 0.02)


if __name__ == "__main__":
    unittest.main()
