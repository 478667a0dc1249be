# SPDX-License-Identifier: Apache-2.0
"""Eigenpairs, density and trace against dense matrices."""

import unittest

import kappascope
import torch
from models import Problem, both_ends
from torch import Tensor


class Spectrum(unittest.TestCase):
    def setUp(self) -> None:
        self.problem = Problem()
        self.hessian = self.problem.dense()

    def assert_pairs(self, found: kappascope.Spectrum, matrix: Tensor) -> None:
        """Every value is an eigenvalue to its bound, every residual and vector is what it says."""
        values = torch.linalg.eigvalsh(matrix)
        scale = float(values.abs().max())
        for value, bound in zip(found.eigenvalues, found.bounds, strict=True):
            self.assertLessEqual(float((values - value).abs().min()), float(bound) + 1e-14 * scale)
        vectors = found.eigenvectors
        assert vectors is not None
        gram = vectors @ vectors.T
        torch.testing.assert_close(gram, torch.eye(len(gram), dtype=gram.dtype), atol=1e-12, rtol=0)
        true = (matrix @ vectors.T - vectors.T * found.eigenvalues).norm(dim=0)
        torch.testing.assert_close(true, found.residuals, atol=1e-13 * scale, rtol=1e-6)

    def test_the_hessian_of_a_gated_network_is_that_of_the_dense_matrix(self) -> None:
        found = kappascope.spectrum(
            self.problem.loss(), self.problem.model, top=3, which="both", tol=1e-10
        )
        self.assertEqual(found.status, "converged")
        self.assertEqual(found.product_kind, "graph kept")
        self.assertGreater(found.products, 6)
        self.assertGreater(found.seconds, 0)
        torch.testing.assert_close(
            found.eigenvalues, both_ends(self.hessian, 3), atol=1e-10, rtol=0
        )
        self.assert_pairs(found, self.hessian)

    def test_a_loose_tolerance_is_told_by_the_bounds(self) -> None:
        found = kappascope.spectrum(self.problem.loss(), self.problem.model, which="both", tol=1e-2)
        self.assertGreater(float(found.residuals.max()), 1e-9)
        rounding = found.product_noise * found.eigenvalues.abs().max()
        torch.testing.assert_close(found.bounds, found.residuals + rounding)
        self.assert_pairs(found, self.hessian)

    def test_one_end_alone(self) -> None:
        loss = self.problem.loss()
        ends = both_ends(self.hessian, 2)
        for which, expected in (("largest", ends[:2]), ("smallest", ends[2:])):
            found = kappascope.spectrum(
                loss,
                self.problem.model,
                top=2,
                which=which,
                tol=1e-9,
            )
            torch.testing.assert_close(found.eigenvalues, expected, atol=1e-9, rtol=0)

    def test_the_default_is_the_five_largest_once_each(self) -> None:
        found = kappascope.spectrum(self.problem.loss(), self.problem.model)
        self.assertEqual((found.which, len(found.eigenvalues)), ("largest", 5))
        self.assertFalse(found.multiplicity_checked)
        largest = torch.linalg.eigvalsh(self.hessian).flip(0)[:5]
        torch.testing.assert_close(
            found.eigenvalues, largest, atol=2 * float(found.bounds.max()), rtol=0
        )
        plain = kappascope.spectrum(
            self.problem.loss(), self.problem.model, which="largest", find_repeated=False
        )
        self.assertEqual(found.products, plain.products)
        self.assertIn("ask with find_repeated=True", str(found))
        every = kappascope.spectrum(self.problem.loss(), self.problem.model, find_repeated=True)
        self.assertGreater(every.products, found.products)
        self.assertTrue(every.multiplicity_checked)
        self.assertNotIn("Multiplicity", str(every))

    def test_what_is_certified_is_the_extreme_one_and_a_given_start_certifies_nothing(self) -> None:
        weight = torch.nn.Parameter(torch.ones(300, dtype=torch.float64))
        curvature = torch.linspace(-0.5, 1, 300, dtype=torch.float64)
        curvature[:3] = torch.tensor([1000.0, 300.0, 50.0])
        loss = (curvature * weight.square()).sum() / 2
        found = kappascope.spectrum(
            loss, [weight], top=3, which="smallest", certify=True, max_products=1000
        )
        self.assertEqual(found.status, "converged")
        self.assertTrue(bool(found.certified.all()))
        smallest = curvature.sort().values[:3].flip(0)
        torch.testing.assert_close(
            found.eigenvalues, smallest, atol=float(found.tolerances.max()), rtol=0
        )
        start = torch.zeros(300, dtype=torch.float64)
        start[[2, 99]] = 1  # the largest is no part of it
        given = kappascope.spectrum(loss, [weight], top=1, start=start, certify=True)
        torch.testing.assert_close(
            given.eigenvalues, curvature.max()[None], atol=float(given.tolerances.max()), rtol=0
        )

    def test_the_other_end_comes_for_nothing_and_says_where_it_is_the_larger_one(self) -> None:
        weight = torch.nn.Parameter(torch.ones(40, dtype=torch.float64))
        curvature = torch.linspace(-1, 1, 40, dtype=torch.float64)
        curvature[:3] = torch.tensor([-20.0, 10.0, 8.0])
        loss = (curvature * weight.square()).sum() / 2
        found = kappascope.spectrum(loss, [weight], top=2)
        torch.testing.assert_close(
            found.eigenvalues, torch.tensor([10.0, 8.0], dtype=torch.float64), atol=0.02, rtol=0
        )
        assert found.other_end is not None
        self.assertLessEqual(abs(found.other_end.value + 20), found.other_end.residual + 1e-12)
        self.assertIn("The most negative Ritz value of the same space, -20 ", str(found))
        self.assertIn('has the larger magnitude; ask with which="both".', str(found))
        low = kappascope.spectrum(loss, [weight], top=1, which="smallest")
        self.assertIn("The other end was not asked for: the same space reaches up to", str(low))
        both = kappascope.spectrum(loss, [weight], top=1, which="both")
        self.assertIsNone(both.other_end)

    def test_the_graph_is_still_there_afterwards(self) -> None:
        loss = self.problem.loss()
        kappascope.spectrum(loss, self.problem.model, top=1)
        loss.backward()
        self.assertIsNotNone(self.problem.model.bias.grad)

    def test_a_start_from_the_last_spectrum_or_a_vector_takes_fewer_products(self) -> None:
        model = self.problem.model
        options = {"top": 2, "tol": 1e-6}
        cold = kappascope.spectrum(self.problem.loss(), model, **options)
        with torch.no_grad():
            model.bias.add_(1e-5)
        loss = self.problem.loss()
        again = kappascope.spectrum(loss, model, **options)
        warm = kappascope.spectrum(loss, model, start=cold, **options)
        assert cold.eigenvectors is not None
        vector = kappascope.spectrum(loss, model, start=cold.eigenvectors.sum(0), **options)
        self.assertLess(warm.products, again.products)
        self.assertEqual(warm.products, vector.products)
        assert warm.eigenvectors is not None
        near = kappascope.spectrum(loss, model, start=warm.eigenvectors, **options)
        self.assertLess(near.products, warm.products)
        torch.testing.assert_close(warm.eigenvalues, again.eigenvalues, atol=1e-6, rtol=0)

    def test_vectors_come_by_name_in_the_shapes_of_the_parameters(self) -> None:
        found = kappascope.spectrum(self.problem.loss(), self.problem.model, top=1)
        named = found.named_vector(0)
        self.assertEqual(
            {name: part.shape for name, part in named.items()},
            {name: p.shape for name, p in self.problem.model.named_parameters()},
        )
        assert found.eigenvectors is not None
        torch.testing.assert_close(
            torch.cat([part.flatten() for part in named.values()]), found.eigenvectors[0]
        )
        none = kappascope.spectrum(self.problem.loss(), self.problem.model, top=1, vectors=False)
        self.assertIsNone(none.eigenvectors)
        torch.testing.assert_close(none.eigenvalues, found.eigenvalues)

    def test_the_certificate_is_in_words(self) -> None:
        found = kappascope.spectrum(self.problem.loss(), self.problem.model, top=1)
        text = str(found)
        self.assertEqual(text, repr(found))
        self.assertRegex(text, r"^hessian of 87 parameters: converged, \d+ products \(graph kept\)")
        self.assertIn("Each value is within its +- of an eigenvalue", text)
        early = kappascope.spectrum(
            self.problem.loss(), self.problem.model, top=4, max_products=8, tol=1e-9
        )
        self.assertEqual(early.status, "max_products")
        self.assertIn("Not converged: the products ran out", str(early))


class OtherOperators(unittest.TestCase):
    def setUp(self) -> None:
        self.problem = Problem()
        self.model = self.problem.model
        self.outputs = self.model(self.problem.x)

    def top(self, loss: kappascope.Outputs | Tensor, operator: str) -> Tensor:
        found = kappascope.spectrum(
            loss,
            self.model,
            operator=operator,
            top=3,
            which="largest",
            tol=1e-9,
        )
        self.assertEqual(found.status, "converged")
        return found.eigenvalues

    def assert_top(self, values: Tensor, matrix: Tensor) -> None:
        torch.testing.assert_close(values, both_ends(matrix, 3)[:3], atol=1e-8, rtol=0)

    def test_gauss_newton_of_both_losses(self) -> None:
        jacobian = self.problem.jacobian()
        p = torch.softmax(self.outputs.detach(), 1)
        middle = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
        rows = len(p)
        exact = torch.einsum("rci,rcd,rdj->ij", jacobian, middle, jacobian) / rows
        self.assert_top(self.top(kappascope.Outputs(self.outputs), "ggn"), exact)
        squared = torch.einsum("rci,rcj->ij", jacobian, jacobian) / rows
        self.assert_top(self.top(kappascope.Outputs(self.outputs, "squared"), "ggn"), squared)

    def test_leading_entries_of_outputs_are_rows(self) -> None:
        stacked = kappascope.Outputs(self.outputs.view(4, 6, 3))
        flat = kappascope.Outputs(self.outputs)
        torch.testing.assert_close(self.top(stacked, "ggn"), self.top(flat, "ggn"))

    def test_fisher_and_covariance_of_the_rows_gradients(self) -> None:
        p = torch.softmax(self.outputs.detach(), 1)
        p[range(len(p)), self.problem.y] -= 1
        gradients = torch.einsum("rc,rcn->rn", p, self.problem.jacobian())
        losses = self.problem.losses()
        self.assert_top(self.top(losses, "fisher"), gradients.T @ gradients / len(p))
        centred = gradients - gradients.mean(0)
        self.assert_top(self.top(losses, "covariance"), centred.T @ centred / len(p))


class DensityAndTrace(unittest.TestCase):
    def setUp(self) -> None:
        self.problem = Problem()
        self.values = torch.linalg.eigvalsh(self.problem.dense())

    def test_the_trace_of_a_small_operator_is_exact(self) -> None:
        found = kappascope.trace(
            self.problem.loss(), self.problem.model, sketch=100, max_products=400
        )
        self.assertEqual(found.status, "converged")
        self.assertAlmostEqual(found.value, float(self.values.sum()), delta=1e-10)
        self.assertIn("(95 %)", repr(found))

    def test_a_density_takes_four_starts_where_none_are_asked_for(self) -> None:
        found = kappascope.density(self.problem.loss(), self.problem.model, steps=5)
        self.assertEqual(found.products, 4 * 5)

    def test_the_density_has_the_mass_and_the_moments_of_the_spectrum(self) -> None:
        # 40 probes: their spread is a sixth of one's, and the interval misses 5 of 100 seeds; this
        # one is fixed.
        found = kappascope.density(
            self.problem.loss(), self.problem.model, steps=87, starts=40, points=300, seed=1
        )
        self.assertEqual(found.status, "converged")
        self.assertEqual(found.grid.shape, (300,))
        self.assertAlmostEqual(float(found.weights.sum()), 1, delta=1e-12)
        self.assertAlmostEqual(float(torch.trapezoid(found.density, found.grid)), 1, delta=1e-3)
        self.assertLessEqual(found.trace_lower, float(self.values.sum()))
        self.assertGreaterEqual(found.trace_upper, float(self.values.sum()))
        self.assertTrue(bool((found.lower <= found.density).all()))
        self.assertAlmostEqual(float(found.nodes.max()), float(self.values[-1]), delta=1e-9)

    def test_the_shares_below_and_near_zero_have_bounds_that_hold(self) -> None:
        # Of few probes and steps. The band holds for all points at once with 95 %, so that at most
        # two of ten seeds are missed with 98.8 %; these are fixed.
        values = self.values.numpy()
        zero = 1e-3 * abs(values).max()
        truth = {
            "negative_mass": (values < 0).mean(),
            "near_zero_mass": (abs(values) <= zero).mean(),
        }
        missed = 0
        for seed in range(10):
            found = kappascope.density(
                self.problem.loss(), self.problem.model, steps=12, starts=2, seed=seed
            )
            holds = True
            for name, share in truth.items():
                lower, upper = (getattr(found, f"{name}_{end}") for end in ("lower", "upper"))
                self.assertLessEqual(lower, getattr(found, name))
                self.assertGreaterEqual(upper, getattr(found, name))
                self.assertLess(upper - lower, 1)
                holds = holds and lower <= share <= upper
            missed += not holds
            ends = f"[{found.negative_mass_lower:.3g}, {found.negative_mass_upper:.3g}]"
            self.assertIn(f"negative mass in {ends}", repr(found))
        self.assertLessEqual(missed, 2)


if __name__ == "__main__":
    unittest.main()
