# SPDX-License-Identifier: Apache-2.0
"""The critical multiple of a step, against quadratics whose answer is known and against a scan."""

import math
import unittest
from collections.abc import Callable

import kappascope
import torch
from models import Problem
from torch import Tensor, nn
from torch.optim import SGD, AdamW, Optimizer


def stepped(
    model: nn.Module, loss: Callable[[], Tensor], optimizer: Optimizer, steps: int = 1
) -> list[Tensor]:
    """The parameters before the last step."""
    for _ in range(steps):
        before = [p.detach().clone() for p in model.parameters()]
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    return before


class Quadratic(nn.Module):
    def __init__(self, dtype: torch.dtype = torch.float64) -> None:
        super().__init__()
        torch.manual_seed(1)
        root = torch.randn(6, 6, dtype=torch.float64)
        self.matrix = (root @ root.T).to(dtype)
        self.x = nn.Parameter(torch.randn(6, dtype=torch.float64).to(dtype))

    def loss(self) -> Tensor:
        return 0.5 * self.x @ self.matrix @ self.x + 1


class Answers(unittest.TestCase):
    def test_of_a_quadratic_it_is_the_rayleigh_quotient_of_the_gradient(self) -> None:
        for rate in (1e-3, 1e-2, 0.2):
            with self.subTest(rate=rate):
                model = Quadratic()
                start = model.x.detach().clone()
                g = model.matrix @ start
                want = (g @ model.matrix @ g / (g @ g)).item()
                before = stepped(model, model.loss, SGD(model.parameters(), lr=rate))
                found = kappascope.critical_step(model.loss, model, before, rate=rate)
                self.assertEqual(found.status, "resolved")
                self.assertLessEqual(found.upper / found.lower, 1.5)
                assert found.sharpness is not None and found.critical_rate is not None
                self.assertLess(abs(found.sharpness / want - 1), 1e-6)
                self.assertLessEqual(found.lower * rate, 2 / want)
                self.assertLess(2 / want, found.upper * rate)
                self.assertLessEqual(found.evaluations, 8)

    def test_a_rate_of_zero_has_no_finite_sharpness(self) -> None:
        model = Quadratic()
        before = stepped(model, model.loss, SGD(model.parameters(), lr=0.1))
        found = kappascope.critical_step(model.loss, model, before, rate=0.0)
        self.assertEqual(found.sharpness, math.inf)

    def test_six_evaluations_are_enough_near_the_step(self) -> None:
        model = Quadratic()
        g = model.matrix @ model.x.detach()
        rate = (0.7 * g @ g / (g @ model.matrix @ g)).item()  # the critical one is 2 of 0.7
        before = stepped(model, model.loss, SGD(model.parameters(), lr=rate))
        found = kappascope.critical_step(
            model.loss, model, before, rate=rate, max_evaluations=6
        )
        self.assertEqual((found.status, found.evaluations), ("resolved", 6))
        self.assertAlmostEqual(found.value, 2 / 0.7, 6)

    def test_of_adamws_step_it_is_where_a_scan_finds_it(self) -> None:
        problem = Problem()
        model = problem.model
        optimizer = AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
        before = stepped(model, problem.loss, optimizer, steps=20)
        after = [p.detach().clone() for p in model.parameters()]
        found = kappascope.critical_step(problem.loss, model, before, tol=0.1, max_evaluations=20)
        self.assertEqual(found.status, "resolved")

        def at(s: float) -> float:
            with torch.no_grad():
                for p, a, b in zip(model.parameters(), before, after, strict=True):
                    p.copy_(a + s * (b - a))
                return problem.loss().item()

        first = at(0)
        self.assertLessEqual(at(found.lower), first + 1e-12)
        self.assertGreater(at(found.upper), first - 1e-12)
        self.assertTrue(found.lower <= found.value <= found.upper)

    def test_dropout_draws_the_same_masks(self) -> None:
        problem = Problem(dropout=0.5)
        problem.model.train()
        before = stepped(problem.model, problem.loss, SGD(problem.model.parameters(), lr=0.1))
        states = torch.get_rng_state()
        found = kappascope.critical_step(problem.loss, problem.model, before)
        self.assertGreater(found.lower, 0)
        self.assertTrue(torch.equal(states, torch.get_rng_state()))

    def test_over_batches(self) -> None:
        problem = Problem()
        before = stepped(problem.model, problem.loss, SGD(problem.model.parameters(), lr=0.1))

        def loss(rows: Tensor) -> Tensor:
            return nn.functional.cross_entropy(problem.model(problem.x[rows]), problem.y[rows])

        parts = [torch.arange(6), torch.arange(6, 24)]
        whole = kappascope.critical_step(problem.loss, problem.model, before)
        found = kappascope.critical_step(loss, problem.model, before, batches=parts)
        self.assertAlmostEqual(found.value, whole.value, 6)

    def test_half_precision(self) -> None:
        problem = Problem(torch.bfloat16)
        before = stepped(problem.model, problem.loss, SGD(problem.model.parameters(), lr=0.5))
        after = [p.detach().clone() for p in problem.model.parameters()]
        kappascope.critical_step(problem.loss, problem.model, before)
        for p, value in zip(problem.model.parameters(), after, strict=True):
            self.assertTrue(torch.equal(p, value))


class Endings(unittest.TestCase):
    def test_a_loss_that_only_falls_has_no_limit(self) -> None:
        model = nn.Linear(2, 1, bias=False).double()
        x = torch.ones(1, 2, dtype=torch.float64)
        before = stepped(model, lambda: model(x).sum(), SGD(model.parameters(), lr=0.1))
        found = kappascope.critical_step(lambda: model(x).sum(), model, before, rate=0.1)
        self.assertEqual((found.status, found.upper), ("not_reached", math.inf))
        self.assertTrue(math.isnan(found.value))
        self.assertGreaterEqual(found.lower, 16)

    def test_a_step_uphill_ascends(self) -> None:
        model = Quadratic()
        after = model.x.detach() * 1.5
        before = [model.x.detach().clone()]
        with torch.no_grad():
            model.x.copy_(after)
        found = kappascope.critical_step(model.loss, model, before)
        self.assertEqual((found.status, found.lower), ("ascends", 0))
        self.assertLess(found.upper, 0.01)
        self.assertTrue(torch.equal(model.x, after))

    def test_few_evaluations_leave_wide_bounds(self) -> None:
        problem = Problem()
        before = stepped(problem.model, problem.loss, SGD(problem.model.parameters(), lr=1e-4))
        found = kappascope.critical_step(
            problem.loss, problem.model, before, max_evaluations=4
        )
        self.assertEqual((found.evaluations, found.status), (4, "not_reached"))

    def test_eight_evaluations_are_spent_where_nothing_else_is_said(self) -> None:
        problem = Problem()
        before = stepped(problem.model, problem.loss, SGD(problem.model.parameters(), lr=1e-4))
        found = kappascope.critical_step(problem.loss, problem.model, before, tol=1e-12)
        self.assertEqual((found.evaluations, found.status), (8, "max_evaluations"))

    def test_what_does_not_fit_is_refused(self) -> None:
        problem = Problem()
        model, loss = problem.model, problem.loss
        before = [p.detach().clone() for p in model.parameters()]
        with self.assertRaisesRegex(kappascope.Error, "there is no step"):
            kappascope.critical_step(loss, model, before)
        before = stepped(model, loss, SGD(model.parameters(), lr=0.1))
        with self.assertRaisesRegex(ValueError, "tensors for"):
            kappascope.critical_step(loss, model, before[:-1])
        with self.assertRaisesRegex(ValueError, r"is \[.*\], not"):
            kappascope.critical_step(loss, model, before[::-1])
        with self.assertRaisesRegex(ValueError, "callable"):
            kappascope.critical_step(loss(), model, before)  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, "missing"):
            kappascope.critical_step(loss, model, {"up.weight": before[0]})
        count = iter(range(100))
        with self.assertRaisesRegex(kappascope.Error, "not deterministic"):
            kappascope.critical_step(lambda: loss() * (1 + next(count)), model, before)
        with self.assertRaisesRegex(kappascope.Error, "not finite"):
            kappascope.critical_step(lambda: loss() * math.nan, model, before)

    def test_an_exception_leaves_the_parameters_after_the_step(self) -> None:
        problem = Problem()
        before = stepped(problem.model, problem.loss, SGD(problem.model.parameters(), lr=0.1))
        after = [p.detach().clone() for p in problem.model.parameters()]
        count = iter(range(100))

        def loss() -> Tensor:
            if next(count) == 3:
                raise KeyError("mine")
            return problem.loss()

        with self.assertRaises(KeyError):
            kappascope.critical_step(loss, problem.model, before)
        for p, value in zip(problem.model.parameters(), after, strict=True):
            self.assertTrue(torch.equal(p, value))


if __name__ == "__main__":
    unittest.main()
