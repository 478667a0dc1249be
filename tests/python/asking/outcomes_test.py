# SPDX-License-Identifier: Apache-2.0
"""What breaks: a named outcome or right numbers, and errors in one line."""

import re
import unittest

import kappascope
import torch
from models import Problem, both_ends
from torch import Tensor, nn
from torch.nn import functional


class Refused(unittest.TestCase):
    def test_dropout_is_refused_with_both_values(self) -> None:
        problem = Problem(dropout=0.4)
        problem.model.train()
        state = torch.get_rng_state()
        with self.assertRaises(kappascope.Error) as caught:
            kappascope.spectrum(problem.loss, problem.model)
        self.assertTrue(torch.equal(state, torch.get_rng_state()))
        found = re.search(r"two evaluations gave (\S+) and (\S+)\)", str(caught.exception))
        assert found is not None, str(caught.exception)
        self.assertNotEqual(found[1], found[2])
        torch.manual_seed(3)
        first = problem.loss().item()
        torch.manual_seed(3)
        with self.assertRaisesRegex(kappascope.Error, re.escape(f"{first:.9g}")):
            kappascope.spectrum(problem.loss, problem.model)

    def test_frozen_masks_and_a_given_tensor_are_taken(self) -> None:
        problem = Problem(dropout=0.4)
        problem.model.train()
        self.assertEqual(kappascope.spectrum(problem.loss(), problem.model).status, "converged")

        def frozen() -> Tensor:
            torch.manual_seed(11)
            return problem.loss()

        self.assertEqual(kappascope.spectrum(frozen, problem.model).status, "converged")

    def test_nan_in_the_data_and_infinity_in_a_weight(self) -> None:
        problem = Problem()
        problem.x[3, 2] = torch.nan
        for loss in (problem.loss, problem.loss()):
            with self.assertRaisesRegex(kappascope.Error, "^the loss is not finite"):
                kappascope.spectrum(loss, problem.model)
        problem = Problem()
        with torch.no_grad():
            problem.model.down.weight[0, 0] = torch.inf
        with self.assertRaisesRegex(kappascope.Error, "^the loss is not finite"):
            kappascope.spectrum(problem.loss, problem.model)

    def test_a_loss_without_a_graph_and_one_line_for_all(self) -> None:
        problem = Problem()
        with torch.no_grad():
            loss = problem.loss()
        with self.assertRaisesRegex(kappascope.Error, "does not depend on any parameter") as caught:
            kappascope.spectrum(loss, problem.model)
        self.assertNotIn("\n", str(caught.exception))
        self.assertIsNone(caught.exception.__cause__)
        self.assertTrue(caught.exception.__suppress_context__)

    def test_errors_of_the_loss_itself_pass_as_they_are(self) -> None:
        for error in (KeyError("mine"), RuntimeError("mine too")):

            def loss(error: Exception = error) -> Tensor:
                raise error

            with self.assertRaises(type(error)) as caught:
                kappascope.spectrum(loss, Problem().model)
            self.assertIs(caught.exception, error)

    def test_a_missing_second_derivative_is_a_difference_or_refused(self) -> None:
        x = torch.randn(1, 2, 8, 4)
        weight = nn.Parameter(torch.randn(4, 4))

        def loss() -> Tensor:
            q = x @ weight
            return functional.scaled_dot_product_attention(q, q, q).square().mean()

        backends = torch.nn.attention.SDPBackend
        with torch.nn.attention.sdpa_kernel(backends.MATH):
            exact = kappascope.spectrum(loss, [weight], top=1)
        self.assertEqual((exact.status, exact.product_kind), ("converged", "graph kept"))
        with torch.nn.attention.sdpa_kernel(backends.FLASH_ATTENTION):
            found = kappascope.spectrum(loss, [weight], top=1)
            self.assertEqual(found.product_kind, "finite difference")
            for value, bound, truth in zip(
                found.eigenvalues, found.bounds, exact.eigenvalues, strict=True
            ):
                self.assertLess(abs(float(value - truth)), 2 * float(bound) + 1e-3)
            with self.assertRaisesRegex(kappascope.Error, "give a function"):
                kappascope.spectrum(loss(), [weight], top=1)
            with self.assertRaisesRegex(kappascope.Error, "no second derivative"):
                kappascope.spectrum(loss, [weight], top=1, product="graph kept")

    def test_products_are_of_the_kind_that_was_asked_for(self) -> None:
        problem = Problem()
        kept = kappascope.spectrum(problem.loss, problem.model, top=2, tol=1e-6)
        again = kappascope.spectrum(
            problem.loss, problem.model, top=2, tol=1e-6, product="recomputed"
        )
        self.assertEqual((kept.product_kind, again.product_kind), ("graph kept", "recomputed"))
        torch.testing.assert_close(kept.eigenvalues, again.eigenvalues)
        with self.assertRaisesRegex(ValueError, "product must be one of"):
            kappascope.spectrum(problem.loss, problem.model, product="exact")  # type: ignore


class Outcomes(unittest.TestCase):
    def test_products_that_overflow_are_a_status_without_numbers(self) -> None:
        # The second derivative of a square root is -w^(-3/2) / 4: 2.5e44 is beyond float32.
        weight = nn.Parameter(torch.tensor([1e-30, 1.0]))
        found = kappascope.spectrum(weight.sqrt().sum(), [weight], top=1)
        self.assertEqual(found.status, "non_finite")
        self.assertEqual(found.eigenvalues.shape, (0,))
        self.assertIsNone(found.eigenvectors)
        self.assertIn("No values", str(found))

    def test_a_huge_weight_with_a_finite_loss_too(self) -> None:
        problem = Problem(torch.float32)
        with torch.no_grad():
            problem.model.down.weight[0, 0] = 3e38
        self.assertTrue(bool(problem.loss().isfinite()))
        found = kappascope.spectrum(problem.loss, problem.model)
        self.assertIn(found.status, ("converged", "non_finite"))
        self.assertTrue(bool(found.eigenvalues.isfinite().all()))
        self.assertTrue(bool(found.bounds.isfinite().all()))

    def test_one_parameter_and_as_many_pairs_as_there_are(self) -> None:
        weight = nn.Parameter(torch.tensor(2.0, dtype=torch.float64))
        found = kappascope.spectrum(weight**3, [weight])
        self.assertEqual(found.eigenvalues.tolist(), [12.0])
        three = nn.Parameter(torch.tensor([1.0, 2.0, -3.0], dtype=torch.float64))
        found = kappascope.spectrum((three**3).sum(), [three], top=3)
        torch.testing.assert_close(
            found.eigenvalues, torch.tensor([12.0, 6.0, -18.0], dtype=torch.float64)
        )

    def test_single_precision_is_right_to_its_bound(self) -> None:
        problem = Problem(torch.float32)
        found = kappascope.spectrum(problem.loss(), problem.model, top=2, tol=1e-5)
        self.assertEqual(found.status, "converged")
        assert found.eigenvectors is not None
        self.assertEqual(found.eigenvectors.dtype, torch.float32)
        exact = torch.linalg.eigvalsh(problem.dense().double())
        for value, bound in zip(found.eigenvalues, found.bounds, strict=True):
            self.assertLess(float((exact - value).abs().min()), 2 * float(bound) + 1e-6)

    def test_half_precision_is_right_or_says_that_it_is_not(self) -> None:
        exact = both_ends(Problem().dense(), 1)
        for dtype in (torch.bfloat16, torch.float16):
            problem = Problem(dtype)
            found = kappascope.spectrum(problem.loss(), problem.model, top=1, which="both", max_products=60)
            with self.subTest(dtype):
                if found.status == "converged":
                    for value, bound, truth in zip(
                        found.eigenvalues, found.bounds, exact, strict=True
                    ):
                        self.assertLess(abs(float(value - truth)), 2 * float(bound))
                else:
                    self.assertIn(found.status, ("max_products", "inconsistent"))

    @unittest.skipUnless(torch.cuda.is_available(), "no CUDA device")
    def test_vectors_stay_on_the_device(self) -> None:
        problem = Problem()
        expected = both_ends(problem.dense(), 2)
        problem.model.cuda()
        problem.x, problem.y = problem.x.cuda(), problem.y.cuda()
        found = kappascope.spectrum(problem.loss, problem.model, top=2, which="both", tol=1e-9)
        assert found.eigenvectors is not None
        self.assertEqual(found.eigenvectors.device.type, "cuda")
        self.assertEqual(found.eigenvalues.device.type, "cpu")
        torch.testing.assert_close(found.eigenvalues, expected, atol=1e-9, rtol=0)


if __name__ == "__main__":
    unittest.main()
