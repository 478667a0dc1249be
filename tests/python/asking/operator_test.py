# SPDX-License-Identifier: Apache-2.0
"""Curvature as a matrix: products, systems, diagonals and SciPy against the dense matrix."""

import dataclasses
import gc
import math
import unittest
import weakref

import kappascope
import numpy
import torch
from kappascope import Outputs
from models import Problem
from scipy.sparse.linalg import eigsh, minres
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits


class Products(unittest.TestCase):
    def setUp(self) -> None:
        self.problem = Problem()
        self.dense = self.problem.dense()
        torch.manual_seed(3)
        self.v = torch.randn(len(self.dense), dtype=torch.float64)

    def close(self, a: Tensor, b: Tensor, tolerance: float = 1e-12) -> None:
        self.assertLess((a - b).norm() / b.norm(), tolerance)

    def test_hessian(self) -> None:
        h = kappascope.hessian(self.problem.loss, self.problem.model)
        self.assertEqual(h.shape, tuple(self.dense.shape))
        self.assertEqual((h.dtype, h.product_kind), (torch.float64, "graph kept"))
        self.close(h @ self.v, self.dense @ self.v)
        columns = torch.randn(len(self.v), 3, dtype=torch.float64)
        self.close(h @ columns, self.dense @ columns)
        self.assertIn("hessian", repr(h))

    def test_of_a_tensor_with_its_graph(self) -> None:
        h = kappascope.hessian(self.problem.loss(), self.problem.model)
        self.close(h @ self.v, self.dense @ self.v)

    def test_over_batches(self) -> None:
        def loss(rows: slice) -> Tensor:
            return nn.functional.cross_entropy(
                self.problem.model(self.problem.x[rows]), self.problem.y[rows]
            )

        halves = [torch.arange(12), torch.arange(12, 24)]
        h = kappascope.hessian(loss, self.problem.model, batches=halves)
        self.close(h @ self.v, self.dense @ self.v)

    def test_numpy(self) -> None:
        h = kappascope.hessian(self.problem.loss, self.problem.model)
        found = h @ self.v.numpy()
        self.assertIsInstance(found, numpy.ndarray)
        self.close(torch.from_numpy(found), self.dense @ self.v)

    def test_other_operators(self) -> None:
        model, x = self.problem.model, self.problem.x
        j = self.problem.jacobian()
        p = model(x).detach().softmax(-1)
        middle = torch.diag_embed(p) - p.unsqueeze(2) * p.unsqueeze(1)
        ggn = torch.einsum("rai,rab,rbj->ij", j, middle, j) / len(x)
        outputs = Outputs(lambda: model(x))
        self.close(kappascope.curvature(outputs, model, operator="ggn") @ self.v, ggn @ self.v)
        losses = self.problem.losses()
        rows = [torch.autograd.grad(one, model.parameters(), retain_graph=True) for one in losses]
        g = torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])
        fisher = kappascope.curvature(self.problem.losses, model, operator="fisher")
        self.close(fisher @ self.v, g.T @ (g @ self.v) / len(x))

    def test_gauss_newton_of_any_loss_of_the_outputs(self) -> None:
        model, x = self.problem.model, self.problem.x
        j = self.problem.jacobian()
        target = torch.rand_like(model(x))
        z = model(x).detach()
        middle = torch.diag_embed(z.sigmoid() * (1 - z.sigmoid()))
        bce = torch.einsum("rai,rab,rbj->ij", j, middle, j)

        def loss(outputs: Tensor) -> Tensor:
            return binary_cross_entropy_with_logits(outputs, target, reduction="sum")

        for outputs in (Outputs(lambda: model(x), loss), Outputs(model(x), loss)):
            self.close(kappascope.curvature(outputs, model, operator="ggn") @ self.v, bce @ self.v)

        # The loss gets the outputs as the model gave them.
        def stacked(outputs: Tensor) -> Tensor:
            self.assertEqual(outputs.shape, (2, len(x) // 2, z.shape[1]))
            return loss(outputs.flatten(0, 1))

        split = Outputs(lambda: model(x).unflatten(0, (2, -1)), stacked)
        self.close(kappascope.curvature(split, model, operator="ggn") @ self.v, bce @ self.v)
        spectrum = kappascope.spectrum(Outputs(lambda: model(x), loss), model, operator="ggn", top=1)
        self.assertAlmostEqual(
            spectrum.eigenvalues[0].item(), torch.linalg.eigvalsh(bce)[-1].item(), places=6
        )

    def test_a_loss_of_the_outputs_that_fails_says_why(self) -> None:
        model, x = self.problem.model, self.problem.x
        with self.assertRaisesRegex(ValueError, "takes no batches"):
            kappascope.curvature(
                Outputs(model, lambda z: z.sum()), model, operator="ggn", batches=[x]
            )
        matrix = kappascope.curvature(Outputs(model(x), lambda z: z.square()), model, operator="ggn")
        with self.assertRaisesRegex(kappascope.Error, "must be a scalar"):
            matrix @ self.v

    def test_the_gradient_and_the_curvature_along_it(self) -> None:
        h = kappascope.hessian(self.problem.loss, self.problem.model)
        gradients = torch.autograd.grad(self.problem.loss(), self.problem.model.parameters())
        wanted = torch.cat([g.flatten() for g in gradients])
        found = h.gradient()
        assert found is not None
        self.close(found, wanted)
        along = (wanted @ self.dense @ wanted / (wanted @ wanted)).item()
        self.assertAlmostEqual(h.along(found), along, places=9)
        self.assertAlmostEqual(h.along(1e-200 * found), along, places=9)
        self.assertTrue(math.isnan(h.along(0 * found)))
        fisher = kappascope.curvature(self.problem.losses, self.problem.model, operator="fisher")
        self.assertIsNone(fisher.gradient())

    def test_blocks_by_name(self) -> None:
        h = kappascope.hessian(self.problem.loss, self.problem.model, only="down.*")
        self.assertEqual(list(h.shapes), ["down.weight", "down.bias"])
        parts = h.split(torch.arange(float(h.shape[0])))
        self.assertEqual([list(part.shape) for part in parts.values()], [[3, 6], [3]])
        self.assertEqual(parts["down.bias"].tolist(), [18, 19, 20])

    def test_scipy(self) -> None:
        h = kappascope.hessian(self.problem.loss, self.problem.model).to_scipy()
        top = eigsh(h, k=2, which="LA", return_eigenvectors=False)
        self.assertAlmostEqual(max(top), torch.linalg.eigvalsh(self.dense)[-1].item(), 10)
        x, info = minres(h, self.v.numpy(), shift=-0.3, rtol=1e-12)
        self.assertEqual(info, 0)
        ours = kappascope.hessian(self.problem.loss, self.problem.model).solve(
            self.v, damping=0.3, tol=1e-11
        )
        self.close(ours.x, torch.from_numpy(x), 1e-9)

    def test_single_precision(self) -> None:
        problem = Problem(torch.float32)
        h = kappascope.hessian(problem.loss, problem.model)
        self.assertEqual(h.dtype, torch.float32)
        self.close((h @ self.v).double(), problem.dense().double() @ self.v, 1e-5)


class Systems(unittest.TestCase):
    def test_solve(self) -> None:
        problem = Problem()
        dense = problem.dense()
        b = torch.linspace(-1, 1, len(dense), dtype=torch.float64)
        found = kappascope.hessian(problem.loss, problem.model).solve(b, damping=0.5, tol=1e-10)
        want = torch.linalg.solve(dense + 0.5 * torch.eye(len(dense)), b)
        self.assertLess((found.x - want).norm() / want.norm(), 1e-9)
        self.assertEqual(found.status, "converged")
        self.assertLessEqual(found.residual, 1e-10)
        self.assertIn("converged", repr(found))

    def test_what_is_not_reached_is_said(self) -> None:
        problem = Problem()
        h = kappascope.hessian(problem.loss, problem.model)
        b = torch.ones(h.shape[0], dtype=torch.float64)
        found = h.solve(b, max_products=3)
        self.assertEqual(found.status, "max_products")
        self.assertLessEqual(found.products, 3)
        with self.assertRaisesRegex(kappascope.Error, "finite"):
            h.solve(b * torch.nan)

    def test_log_determinant(self) -> None:
        problem = Problem()
        h = kappascope.hessian(problem.loss, problem.model)
        dense = problem.dense()
        damping = 0.1 - float(torch.linalg.eigvalsh(dense)[0])
        want = float(torch.logdet(dense + damping * torch.eye(len(dense), dtype=dense.dtype)))
        exact = h.logdet(damping=damping)
        self.assertEqual((exact.status, exact.products), ("exact", len(dense)))
        self.assertAlmostEqual(exact.value, want, places=9)
        # By fewer products than there are rows.
        found = h.logdet(damping=damping, starts=6, steps=8, seed=1)
        self.assertEqual((found.status, found.products), ("estimated", 48))
        self.assertTrue(found.lower < want < found.upper, found)
        below = h.logdet(damping=damping - 0.2, starts=4, steps=8)
        self.assertEqual(below.status, "not_positive_definite")
        ggn = kappascope.curvature(
            Outputs(problem.model(problem.x), "cross_entropy"), problem.model, operator="ggn"
        )
        # It is singular; its smallest eigenvalue is the damping, which bounds it from below.
        self.assertTrue(math.isfinite(ggn.logdet(damping=1e-3, starts=4, steps=4).lower))

    def test_results_stay_as_they_were_found(self) -> None:
        problem = Problem()
        h = kappascope.hessian(problem.loss, problem.model)
        rhs = torch.ones(h.shape[0], dtype=torch.float64)
        for found in (h.solve(rhs, damping=10.0), h.diagonal(), h.logdet(damping=10.0)):
            with self.assertRaises(dataclasses.FrozenInstanceError):
                found.products = 0  # type: ignore[misc]

    def test_an_error_of_the_loss_comes_out_as_it_was_raised(self) -> None:
        problem = Problem()
        breaks = False

        class Mine(RuntimeError):
            pass

        def loss() -> Tensor:
            if breaks:
                raise Mine("mine")
            return problem.loss()

        h = kappascope.hessian(loss, problem.model, product="recomputed")
        breaks = True
        with self.assertRaisesRegex(Mine, "^mine$"):
            h @ torch.ones(h.shape[0], dtype=torch.float64)

    def test_diagonal(self) -> None:
        problem = Problem()
        want = problem.dense().diagonal()
        h = kappascope.hessian(problem.loss, problem.model)
        exact = h.diagonal()
        self.assertTrue(exact.exact)
        self.assertLess((exact.value - want).norm() / want.norm(), 1e-12)
        found = h.diagonal(max_products=60)
        self.assertFalse(found.exact)
        outside = ((found.value - want).abs() > 2 * found.standard_error).double().mean()
        self.assertLess(outside, 0.15)
        self.assertEqual(len(found.table()), len(want))


class Manners(unittest.TestCase):
    def test_the_model_stays_as_it_is(self) -> None:
        problem = Problem()
        before = {name: x.clone() for name, x in problem.model.state_dict().items()}
        states = torch.get_rng_state()
        h = kappascope.hessian(problem.loss, problem.model, product="finite difference")
        h @ torch.ones(h.shape[0])
        self.assertEqual(h.product_kind, "finite difference")
        self.assertTrue(torch.equal(states, torch.get_rng_state()))
        for name, value in problem.model.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)
        self.assertTrue(all(p.grad is None for p in problem.model.parameters()))

    def test_what_does_not_fit_is_refused(self) -> None:
        problem = Problem()
        h = kappascope.hessian(problem.loss, problem.model)
        with self.assertRaisesRegex(ValueError, r"expected \[57\]|expected \["):
            h @ torch.ones(3)
        with self.assertRaisesRegex(ValueError, "ggn"):
            kappascope.curvature(problem.loss, problem.model, operator="ggn")
        with self.assertRaisesRegex(ValueError, "product must be"):
            kappascope.hessian(problem.loss, problem.model, product="exact")  # type: ignore[arg-type]
        noisy = Problem(dropout=0.5)
        noisy.model.train()
        with self.assertRaisesRegex(kappascope.Error, "deterministic"):
            kappascope.hessian(noisy.loss, noisy.model)

    def test_an_exception_of_the_loss_arrives_as_it_is(self) -> None:
        def loss() -> Tensor:
            raise KeyError("mine")

        with self.assertRaises(KeyError):
            kappascope.hessian(loss, Problem().model)

    def test_close_lets_go_of_the_graph(self) -> None:
        problem = Problem()
        value = problem.loss()
        gone = weakref.ref(value)
        with kappascope.hessian(value, problem.model) as h:
            h @ torch.ones(h.shape[0])
            del value
            gc.collect()
            self.assertIsNotNone(gone())
        gc.collect()
        self.assertIsNone(gone())


if __name__ == "__main__":
    unittest.main()
