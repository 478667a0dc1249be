# SPDX-License-Identifier: Apache-2.0
"""Condition numbers of features against dense matrices."""

import math
import unittest
from typing import Any

import kappascope
import numpy as np
import torch
from torch import Tensor

try:
    from sklearn import datasets
    from sklearn.covariance import EmpiricalCovariance, LedoitWolf
except ImportError:
    datasets = None


def dense(X: Tensor, v: Tensor | None = None, scaled: bool = False) -> float:
    """κ of cov X + v vᵀ, by NumPy."""
    x = X.double().numpy()
    matrix = np.cov(x, rowvar=False, ddof=0)
    if v is not None:
        matrix = matrix + np.outer(v.double().numpy(), v.double().numpy())
    if scaled:
        scale = 1 / np.sqrt(np.diag(matrix))
        matrix = scale[:, None] * matrix * scale
    values = np.linalg.eigvalsh(matrix)
    return float(values[-1] / values[0])


def features(n: int, d: int, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(n + d)
    x = torch.randn(n, d, generator=generator, dtype=torch.float64)
    return (x * torch.linspace(1, 3, d, dtype=torch.float64) + 2).to(dtype)


class Values(unittest.TestCase):
    def test_all_six_are_those_of_the_dense_matrices(self) -> None:
        X = features(400, 6)
        bias = torch.linspace(-3, 1, 6, dtype=torch.float64)
        found = kappascope.kappa(X, bias)
        mean = X.mean(0)
        cases = [
            (found.sigma, found.sigma_scaled, None),
            (found.second_moment, found.second_moment_scaled, mean),
            (found.with_bias, found.with_bias_scaled, mean + bias),
        ]
        for plain, scaled, v in cases:
            self.assertAlmostEqual(plain.value / dense(X, v), 1, places=9)
            self.assertAlmostEqual(scaled.value / dense(X, v, scaled=True), 1, places=9)
            self.assertLessEqual(plain.lower, plain.value)
            self.assertLessEqual(plain.value, plain.upper)
        self.assertEqual(found.sigma.status, "resolved")
        self.assertEqual((found.rows, found.nonfinite_rows, found.features), (400, 0, 6))
        self.assertEqual((found.route, found.sigma.n_effective), ("decomposition", 400))

    def test_rows_hold_what_their_covariance_loses(self) -> None:
        # Four columns and their sum, which differs from it by one part in 10⁸: κ(Σ) above 10¹⁵.
        X = features(400, 5)
        X[:, 4] = X[:, :4].sum(1) + 1e-8 * X[:, 4]
        centred = X - X.mean(0)
        singular = np.linalg.svd(centred.numpy(), compute_uv=False)
        exact = float((singular[0] / singular[-1]) ** 2)
        by_rows = kappascope.kappa(X, method="qr")
        self.assertEqual((by_rows.sigma.status, by_rows.route), ("resolved", "singular values"))
        self.assertAlmostEqual(by_rows.sigma.value / exact, 1, places=5)
        self.assertEqual(kappascope.kappa(X).sigma.status, "degenerate")
        with self.assertRaisesRegex(ValueError, 'method must be "gram" or "qr", got \'svd\''):
            kappascope.kappa(X, method="svd")  # type: ignore[arg-type]

    def test_minus_the_mean_is_sigma_and_no_bias_is_the_second_moment(self) -> None:
        X = features(300, 5)
        centred = kappascope.kappa(X, -X.mean(0))
        self.assertAlmostEqual(centred.with_bias.value / centred.sigma.value, 1, places=9)
        none = kappascope.kappa(X)
        self.assertEqual(none.with_bias, none.second_moment)

    def test_a_wide_one_is_factorised_and_the_same(self) -> None:
        X = features(3000, 1030, torch.float32)
        found = kappascope.kappa(X)
        self.assertEqual(found.route, "factorisation")
        self.assertAlmostEqual(found.sigma.value / dense(X), 1, places=3)
        self.assertAlmostEqual(found.second_moment.value / dense(X, X.mean(0)), 1, places=3)
        self.assertEqual(found.effective_rank.status, "resolved")

    def test_tokens_of_a_sequence_are_dependent(self) -> None:
        X = features(100, 3)[:, None, :] + 1e-3 * features(400, 3).view(100, 4, 3)
        of_sequences = kappascope.kappa(X)
        of_rows = kappascope.kappa(X.reshape(400, 3))
        self.assertEqual(of_sequences.sigma.value, of_rows.sigma.value)
        self.assertAlmostEqual(of_sequences.sigma.n_effective, 100, delta=20)
        self.assertGreater(of_sequences.sigma.upper, of_rows.sigma.upper)
        same = kappascope.kappa(X.reshape(400, 3), rows_per_group=4)
        self.assertEqual(same.sigma, of_sequences.sigma)
        independent = kappascope.kappa(X, rows_per_group=1)
        self.assertEqual(independent.sigma, of_rows.sigma)
        taken = [found.taken_as_independent for found in (of_sequences, of_rows, same, independent)]
        self.assertEqual(taken, [False, True, False, True])

    def test_signs_that_alternate_and_copies_are_seen(self) -> None:
        X = features(64, 3)[:, None, :] * (-1.0) ** torch.arange(32)[:, None]
        X = X + 1e-3 * features(64 * 32, 3).view(64, 32, 3)
        self.assertAlmostEqual(kappascope.kappa(X).sigma.n_effective, 64, delta=16)
        self.assertAlmostEqual(kappascope.kappa(features(64, 3).repeat(4, 1)).sigma.n_effective, 64)

    def test_the_shrunk_one_does_not_depend_on_the_rows_that_are_kept(self) -> None:
        X = features(900, 5).exp() ** 2
        found = [kappascope.kappa(X, seed=seed).sigma.shrunk for seed in (0, 1)]
        found.append(kappascope.kappa(X, sample_rows=0).sigma.shrunk)
        centred = X - X.mean(0)
        second = centred.T @ centred / 900
        lengths = centred.square().sum(1)
        excess = (lengths.square().mean() - second.square().sum()) / 900
        spread = second.square().sum() - second.trace() ** 2 / 5
        weight = min(1.0, (excess / spread).item())
        values = torch.linalg.eigvalsh(second) * (1 - weight) + weight * second.trace() / 5
        for shrunk in found:
            self.assertAlmostEqual(shrunk / (values[-1] / values[0]).item(), 1, places=9)

    def test_features_with_a_graph_and_in_half_precision_are_taken(self) -> None:
        X = features(200, 4).requires_grad_()
        self.assertAlmostEqual(kappascope.kappa(X).sigma.value / dense(X.detach()), 1, places=9)
        half = X.detach().to(torch.bfloat16)
        self.assertAlmostEqual(kappascope.kappa(half).sigma.value / dense(half), 1, places=3)


@unittest.skipIf(datasets is None, "scikit-learn is not installed here")
class ScikitLearn(unittest.TestCase):
    """EmpiricalCovariance and LedoitWolf on the data that scikit-learn brings along."""

    def test_its_covariances_and_shrunk_ones_have_these_kappas(self) -> None:
        for name in ("iris", "wine", "diabetes", "breast_cancer"):
            x = getattr(datasets, f"load_{name}")().data
            found = kappascope.kappa(torch.from_numpy(x)).sigma
            for ours, estimator in ((found.value, EmpiricalCovariance), (found.shrunk, LedoitWolf)):
                values = np.linalg.eigvalsh(estimator().fit(x).covariance_)
                with self.subTest(name, estimator=estimator.__name__):
                    # What either solver may do to the smallest eigenvalue.
                    rounding = len(values) * 2.0**-52 * values[-1] / values[0]
                    kept = 1e-6  # kept rows are floats
                    self.assertLess(abs(ours * values[0] / values[-1] - 1), 2 * rounding + kept)


class Outcomes(unittest.TestCase):
    def test_rows_that_are_not_finite_are_counted_and_left_out(self) -> None:
        X = features(300, 4)
        dirty = torch.cat([X[:100], torch.full((2, 4), torch.nan).double(), X[100:]])
        dirty[101, :3] = torch.tensor([1.0, torch.inf, 2.0])
        found = kappascope.kappa(dirty)
        self.assertEqual((found.rows, found.nonfinite_rows), (300, 2))
        self.assertAlmostEqual(found.sigma.value / dense(X), 1, places=9)
        self.assertIn("(2 not finite, left out)", str(found))

    def test_fewer_rows_than_features_are_not_resolvable(self) -> None:
        found = kappascope.kappa(features(5, 20))
        self.assertEqual(found.sigma.status, "not_resolvable")
        self.assertEqual(found.sigma.upper, math.inf)
        self.assertIn("5 effective rows for 20 features", found.sigma.reason)
        self.assertIn("not resolvable", str(found))
        self.assertTrue(math.isfinite(found.sigma.shrunk))

    def test_no_row_one_row_and_no_variance_are_degenerate(self) -> None:
        cases = [
            (torch.empty(0, 3), "no row was seen"),
            (torch.empty(0, 7, 3), "no row was seen"),
            (torch.ones(1, 3), "a single row has no covariance"),
            (torch.ones(9, 3), "no feature varies"),
            (torch.full((9, 3), torch.nan), "no row was seen"),
        ]
        for X, reason in cases:
            found = kappascope.kappa(X)
            with self.subTest(reason):
                self.assertEqual(found.sigma.status, "degenerate")
                self.assertTrue(math.isnan(found.sigma.value))
                self.assertIn(reason, found.sigma.reason)
                self.assertIn(reason, str(found))

    def test_a_dead_feature_is_counted(self) -> None:
        X = features(300, 4)
        X[:, 2] = 0
        found = kappascope.kappa(X)
        self.assertEqual((found.constant_features, found.dead_features), (1, 1))
        self.assertEqual((found.sigma.value, found.sigma.null_dimension), (math.inf, 1))
        self.assertAlmostEqual(found.sigma.on_range / dense(X[:, [0, 1, 3]]), 1, places=9)

    def test_it_is_printed_in_words(self) -> None:
        lines = str(kappascope.kappa(features(400, 6))).splitlines()
        self.assertEqual(
            lines[0],
            "6 features, 400 rows, taken as independent: condition numbers with 95 % intervals",
        )
        self.assertRegex(lines[1], r"^  κ\(Σ\) +[\d.]+  in \[[\d.]+, [\d.]+\]  resolved$")
        self.assertRegex(lines[-1], r"^effective rank [\d.]+ in \[[\d.]+, [\d.]+\], stable rank .*; decomposition, ")

    def test_what_does_not_fit_is_refused_by_name(self) -> None:
        X = features(10, 3)
        cases: list[tuple[Any, dict[str, Any], str]] = [
            ([[1.0]], {}, "X must be a tensor, got a list"),
            (X.long(), {}, "X must be of a floating-point type, got torch.int64"),
            (X[0], {}, r"X must be \[rows, d\].*got \[3\]"),
            (X, {"bias": torch.ones(4)}, r"bias must be \[3\] for \[10, 3\], got \[4\]"),
            (X, {"bias": 1.0}, "bias must be a tensor, got a float"),
            (X, {"rows_per_group": 0}, "rows_per_group must be at least 1"),
            (X, {"sample_rows": -1}, "sample_rows must not be negative"),
        ]
        for value, options, message in cases:
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                kappascope.kappa(value, **options)
        errors: list[tuple[dict[str, Any], str]] = [
            ({"rows_per_group": 4}, "groups of 4 rows do not divide 10 rows"),
            ({"bias": torch.tensor([1, torch.nan, 2])}, "the bias has NaN or infinity in it"),
            ({"confidence": 1.0}, r"confidence must be in \(0, 1\)"),
        ]
        for options, message in errors:
            with self.subTest(message), self.assertRaisesRegex(kappascope.Error, message):
                kappascope.kappa(X, **options)


if __name__ == "__main__":
    unittest.main()
