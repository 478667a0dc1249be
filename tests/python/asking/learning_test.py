# SPDX-License-Identifier: Apache-2.0
"""Learning times of features against dense eigenvalues."""

import json
import math
import unittest

import kappascope
import numpy as np
import torch


def steps_to(sigma: np.ndarray, matrix: np.ndarray, share: float) -> float:
    """Steps until `share` of tr[Σ (1 - M/λmax)^(2T)] / tr Σ remains, by its definition."""
    values, vectors = np.linalg.eigh(matrix)
    weights = np.diag(vectors.T @ sigma @ vectors) / np.trace(sigma)
    kept = 1 - values / values.max()

    def remains(steps: float) -> float:
        return float((weights * kept ** (2 * steps)).sum())

    low, high = 1.0, 1e9
    for _ in range(80):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if remains(middle) > share else (low, middle)
    return high


class Values(unittest.TestCase):
    def test_many_rows_give_the_steps_of_the_dense_matrices(self) -> None:
        # 160 rows a feature: the interval holds the truth, and is within a factor of 1.5.
        generator = torch.Generator().manual_seed(1)
        d = 24
        spread = torch.arange(1, d + 1, dtype=torch.float64) ** -0.5
        mean = torch.full((d,), 0.4, dtype=torch.float64)
        X = torch.randn(160 * d, d, generator=generator, dtype=torch.float64) * spread + mean
        bias = -0.5 * mean
        found = kappascope.learning(X, bias)
        sigma = np.diag((spread**2).numpy())
        for time, c in (
            (found.sigma, 0 * mean),
            (found.second_moment, mean),
            (found.with_bias, mean + bias),
        ):
            truth = steps_to(sigma, sigma + np.outer(c, c), 0.1)
            self.assertLess(time.ninety.lower, truth)
            self.assertGreater(time.ninety.upper, truth)
            self.assertLess(time.ninety.upper / time.ninety.lower, 1.5)
            self.assertEqual(time.ninety.status, "resolved")
            self.assertLess(time.half.value, time.ninety.value)
        costs = found.second_moment.ninety.value / found.sigma.ninety.value
        self.assertAlmostEqual(found.mean_costs.value, costs, places=9)
        self.assertLess(found.bias_changes.upper, 1)
        self.assertEqual((found.rows, found.groups, found.features), (160 * d, 160 * d, d))

    def test_sequences_are_given_by_three_dimensions_or_by_name(self) -> None:
        X = torch.randn(40, 16, 8, generator=torch.Generator().manual_seed(2))
        by_shape = kappascope.learning(X)
        by_name = kappascope.learning(X.reshape(-1, 8), rows_per_group=16)
        self.assertEqual((by_shape.groups, by_name.groups), (40, 40))
        self.assertEqual(by_shape.sigma, by_name.sigma)
        self.assertEqual(kappascope.learning(X, rows_per_group=1).groups, 640)

    def test_scaling_features_changes_nothing_where_they_are_scaled_to_unit_diagonal(self) -> None:
        X = torch.randn(800, 8, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
        uneven = X * torch.logspace(-2, 2, 8, dtype=torch.float64)
        a = kappascope.learning(X, scaled=True).sigma.ninety.value
        b = kappascope.learning(uneven, scaled=True).sigma.ninety.value
        self.assertAlmostEqual(a / b, 1, places=6)
        self.assertGreater(kappascope.learning(uneven).sigma.ninety_nine.value, a)


class Manners(unittest.TestCase):
    def test_what_is_not_known_says_why_and_a_result_is_shown(self) -> None:
        found = kappascope.learning(torch.randn(32, 64, generator=torch.Generator().manual_seed(4)))
        self.assertEqual(found.sigma.ninety.status, "not_resolvable")
        self.assertIn("more rows", found.sigma.ninety.reason)
        self.assertIn("not resolvable", str(found))
        self.assertEqual(len(found.table()), 9)
        json.dumps(found.to_dict())

    def test_arguments_that_do_not_fit_are_errors(self) -> None:
        X = torch.randn(16, 4)
        for wrong in (X.numpy(), X.long(), X[0]):
            with self.assertRaises(ValueError):
                kappascope.learning(wrong)  # type: ignore[arg-type]
        with self.assertRaises(ValueError):
            kappascope.learning(X, torch.zeros(3))
        with self.assertRaises(kappascope.Error):
            kappascope.learning(X, rows_per_group=3)
        with self.assertRaises(kappascope.Error):
            kappascope.learning(X, confidence=1.5)


if __name__ == "__main__":
    unittest.main()
