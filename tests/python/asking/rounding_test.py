# SPDX-License-Identifier: Apache-2.0
"""Switches that let float products round, and losses that differ in their last bits."""

import unittest
from collections.abc import Callable, Iterator
from typing import Any

import kappascope
import torch
from models import Gated, Problem, dense_hessian
from torch import Tensor
from torch.nn import functional

ROUNDS = ("tf32", "bf16")


def switches() -> list[str]:
    cuda, mkldnn = torch.backends.cuda, torch.backends.mkldnn
    return [
        cuda.matmul.fp32_precision,
        torch.backends.cudnn.conv.fp32_precision,
        torch.backends.cudnn.rnn.fp32_precision,
        mkldnn.matmul.fp32_precision,
        mkldnn.conv.fp32_precision,
        mkldnn.rnn.fp32_precision,
    ]


def set_matmul(precision: str) -> Callable[[], None]:
    return lambda: torch.set_float32_matmul_precision(precision)


def set_switch(module: Any, precision: str) -> Callable[[], None]:
    return lambda: setattr(module, "fp32_precision", precision)


def settings() -> Iterator[Callable[[], None]]:
    for precision in ("highest", "high", "medium"):
        yield set_matmul(precision)
    for module in (torch.backends, torch.backends.cudnn, torch.backends.cuda.matmul):
        yield set_switch(module, "tf32")
        yield set_switch(module, "ieee")
    for module in (torch.backends.mkldnn.matmul, torch.backends.mkldnn.conv):
        yield set_switch(module, "bf16")


class Switches(unittest.TestCase):
    def setUp(self) -> None:
        self.reset()
        self.addCleanup(self.reset)

    def reset(self) -> None:
        for module in (torch.backends, torch.backends.cudnn, torch.backends.mkldnn):
            module.fp32_precision = "none"  # type: ignore[attr-defined]
        for module in (torch.backends.mkldnn.conv, torch.backends.mkldnn.rnn):
            module.fp32_precision = "none"
        torch.set_float32_matmul_precision("highest")
        torch.backends.cudnn.allow_tf32 = True

    def test_nothing_rounds_while_a_loss_is_evaluated_or_differentiated(self) -> None:
        problem = Problem(torch.float32)
        seen: list[list[str]] = []

        class Look(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Tensor) -> Tensor:
                seen.append(switches())
                return x.clone()

            @staticmethod
            def backward(ctx: Any, outer: Tensor) -> Any:
                seen.append(switches())
                return outer.clone()

        def loss() -> Tensor:
            return Look.apply(problem.loss())  # type: ignore[no-any-return]

        for number, change in enumerate(settings()):
            for product in ("graph kept", "recomputed", "finite difference"):
                with self.subTest(number=number, product=product):
                    self.reset()
                    change()
                    before = switches()
                    seen.clear()
                    kappascope.spectrum(loss, problem.model, top=1, product=product)
                    self.assertGreaterEqual(len(seen), 3)
                    for state in seen:
                        self.assertFalse(set(ROUNDS) & set(state), state)
                    self.assertEqual(switches(), before)

    def test_they_are_put_back_where_the_loss_raises(self) -> None:
        torch.set_float32_matmul_precision("medium")
        before = switches()
        calls = 0

        def loss() -> Tensor:
            nonlocal calls
            calls += 1
            if calls > 1:
                raise KeyError("mine")
            return Problem().loss()

        with self.assertRaises(KeyError):
            kappascope.spectrum(loss, Problem().model)
        self.assertEqual(switches(), before)
        self.assertEqual(torch.get_float32_matmul_precision(), "medium")
        # The older switch may be asked within, too.
        problem = Problem(torch.float32)

        def asks() -> Tensor:
            self.assertEqual(torch.get_float32_matmul_precision(), "highest")
            return problem.loss()

        kappascope.spectrum(asks, problem.model, top=1)


class LastBits(unittest.TestCase):
    """A loss whose values, and gradients, differ between evaluations by `share` of them."""

    def loss(self, problem: Problem, share: float, of_gradient: float) -> Callable[[], Tensor]:
        count = 0

        def evaluate() -> Tensor:
            nonlocal count
            count += 1  # never the same twice in a row
            value = problem.loss()
            # Sums to nothing, and its gradient does not.
            twist = problem.model.down.weight.sum() - problem.model.down.weight.sum().detach()
            return value * (1 + share * (count % 3)) + of_gradient * (count % 5) * twist

        return evaluate

    def test_differences_below_the_noise_are_no_randomness(self) -> None:
        for dtype, unit in ((torch.float32, 2.0**-24), (torch.float64, 2.0**-53)):
            problem = Problem(dtype)
            exact = kappascope.spectrum(problem.loss, problem.model, top=1)
            for product in ("graph kept", "recomputed", "finite difference"):
                found = kappascope.spectrum(
                    self.loss(problem, 4 * unit, 0), problem.model, top=1, product=product
                )
                self.assertLess(
                    abs(found.eigenvalues[0] - exact.eigenvalues[0]),
                    found.bounds[0] + exact.bounds[0] + 1e-3 * exact.eigenvalues[0],
                )

    def test_differences_above_it_are_of_the_value_or_of_the_gradient(self) -> None:
        for dtype, unit in ((torch.float32, 2.0**-24), (torch.float64, 2.0**-53)):
            problem = Problem(dtype)
            for share, of_gradient in ((1e3 * unit, 0), (4 * unit, 1e4 * unit), (1e-2, 1e-2)):
                for product in ("graph kept", "recomputed", "finite difference"):
                    with self.assertRaisesRegex(kappascope.Error, "is not deterministic"):
                        kappascope.spectrum(
                            self.loss(problem, share, of_gradient), problem.model, product=product
                        )


class SixteenBits(unittest.TestCase):
    def test_bounds_of_differences_hold_the_exact_eigenvalue(self) -> None:
        """Nets of drawn sizes and scales; the truth is in double, of the same weights."""
        for seed in range(20):
            generator = torch.Generator().manual_seed(seed)
            inputs, hidden, classes, rows = (
                int(torch.randint(low, high, (), generator=generator))
                for low, high in ((2, 9), (2, 9), (2, 6), (8, 100))
            )
            torch.manual_seed(seed)
            model = Gated(inputs, hidden, classes)
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.mul_(0.5 + 2 * torch.rand((), generator=generator))
            x, y = torch.randn(rows, inputs), torch.randint(classes, (rows,))
            exact = Gated(inputs, hidden, classes).double()
            exact.load_state_dict(model.state_dict())
            truth = torch.linalg.eigvalsh(
                dense_hessian(exact, x.double(), lambda out, y=y: functional.cross_entropy(out, y))
            )
            for dtype in (torch.bfloat16, torch.float16):

                def loss(model: Gated = model, x: Tensor = x, y: Tensor = y, dtype=dtype) -> Tensor:
                    with torch.autocast("cpu", dtype=dtype):
                        return functional.cross_entropy(model(x), y)

                with self.subTest(seed=seed, dtype=dtype):
                    found = kappascope.spectrum(loss, model, top=1, product="finite difference")
                    self.assertLess((truth - found.eigenvalues[0]).abs().min(), found.bounds[0])
                    # And are no bound that holds whatever the value is.
                    self.assertLess(found.bounds[0], 0.5 * truth.abs().max())


if __name__ == "__main__":
    unittest.main()
