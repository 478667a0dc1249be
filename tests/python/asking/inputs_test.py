# SPDX-License-Identifier: Apache-2.0
"""Parameters, batches, and that nothing is changed."""

import unittest
from collections.abc import Iterator
from typing import Any

import kappascope
import torch
from models import Gated, Problem, both_ends
from torch import Tensor, nn
from torch.nn import functional


def top(loss: Any, params: Any, **options: Any) -> Tensor:
    asked = {"top": 2, "which": "both", "find_repeated": True, "tol": 1e-9, **options}
    found = kappascope.spectrum(loss, params, **asked)
    assert found.status == "converged", found
    return found.eigenvalues


class Parameters(unittest.TestCase):
    def setUp(self) -> None:
        self.problem = Problem()
        self.model = self.problem.model

    def test_a_module_tensors_and_named_tensors_are_the_same(self) -> None:
        loss = self.problem.loss()
        expected = both_ends(self.problem.dense(), 2)
        for params in (self.model, self.model.parameters(), self.model.named_parameters()):
            torch.testing.assert_close(top(loss, params), expected, atol=1e-9, rtol=0)

    def test_a_block_is_the_block_of_the_dense_matrix(self) -> None:
        dense = self.problem.dense()
        sizes = {name: p.numel() for name, p in self.model.named_parameters()}
        first = sum(n for name, n in list(sizes.items())[: list(sizes).index("down.weight")])
        last = first + sizes["down.weight"]
        torch.testing.assert_close(
            top(self.problem.loss(), [self.model.down.weight]),
            both_ends(dense[first:last, first:last], 2),
            atol=1e-9,
            rtol=0,
        )

    def test_a_frozen_parameter_of_a_module_is_left_out_and_refused_in_a_list(self) -> None:
        self.model.up.weight.requires_grad_(False)
        loss = self.problem.loss()
        found = kappascope.spectrum(loss, self.model, top=1)
        self.assertNotIn("up.weight", found.shapes)
        with self.assertRaisesRegex(ValueError, "up.weight does not require a gradient"):
            kappascope.spectrum(loss, self.model.named_parameters())

    def test_an_unreached_parameter_has_zeros(self) -> None:
        extra = nn.Parameter(torch.ones(4, dtype=torch.float64))
        found = kappascope.spectrum(
            self.problem.loss(), [*self.model.parameters(), extra], top=2, which="largest", tol=1e-9
        )
        expected = both_ends(self.problem.dense(), 2)[:2]
        torch.testing.assert_close(found.eigenvalues, expected, atol=1e-9, rtol=0)
        assert found.eigenvectors is not None
        self.assertLess(float(found.eigenvectors[0, -4:].abs().max()), 1e-8)
        with self.assertRaisesRegex(kappascope.Error, "does not depend on the chosen parameters"):
            kappascope.spectrum(self.problem.loss(), [extra])

    def test_shared_weights_count_once(self) -> None:
        weight = nn.Parameter(torch.randn(3, 3, dtype=torch.float64))
        first, second = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)
        first.weight = second.weight = weight
        model = nn.Sequential(first, nn.SiLU(), second)
        x = torch.randn(8, 3, dtype=torch.float64)
        loss = model(x).square().mean()

        def of(w: Tensor) -> Tensor:
            return (functional.silu(x @ w.T) @ w.T).square().mean()

        dense = torch.func.hessian(of)(weight.detach()).reshape(9, 9)
        torch.testing.assert_close(top(loss, model), both_ends(dense, 2), atol=1e-9, rtol=0)
        with self.assertRaisesRegex(ValueError, "#0 and #1 are one tensor"):
            kappascope.spectrum(loss, [first.weight, second.weight])

    def test_what_cannot_be_meant_is_refused_by_name(self) -> None:
        loss = self.problem.loss()
        cases: list[tuple[Any, dict[str, Any], str]] = [
            (loss, {"params": []}, "no parameter"),
            (loss, {"params": self.model.bias}, "put one into a list"),
            (loss, {"params": [1.0]}, "is a float, not a tensor"),
            (loss, {"which": "top"}, "which must be one of"),
            (loss, {"operator": "hessain"}, "operator must be one of"),
            (loss, {"top": 0}, "top and max_products must be at least 1"),
            (loss, {"batches": [1]}, "batches need a loss that can be called"),
            (loss, {"operator": "ggn"}, "needs kappascope.Outputs"),
            (kappascope.Outputs(self.model(self.problem.x)), {}, "cannot take Outputs as loss"),
            (lambda: 1.5, {}, "must give a tensor, got a float"),
            (3.0, {}, "loss must be a tensor"),
            (lambda batch: loss, {"batches": []}, "there are no batches"),
            (lambda batch: loss, {"batches": [object()]}, "cannot tell the number of rows"),
        ]
        for value, options, message in cases:
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                kappascope.spectrum(value, **{"params": self.model, **options})
        with self.assertRaisesRegex(ValueError, "loss must be one of"):
            kappascope.Outputs(torch.zeros(2, 3), "mse")
        with self.assertRaisesRegex(ValueError, "with vectors is needed"):
            none = kappascope.spectrum(loss, self.model, top=1, vectors=False)
            kappascope.spectrum(loss, self.model, start=none)
        errors: list[tuple[Any, dict[str, Any], str]] = [
            (loss, {"start": torch.ones(3)}, "start vectors of 3 numbers"),
            (loss, {"operator": "fisher"}, "one loss a row"),
            (self.problem.losses(), {}, "must be a scalar, got 24 values"),
        ]
        for value, options, message in errors:
            with self.subTest(message), self.assertRaisesRegex(kappascope.Error, message):
                kappascope.spectrum(value, self.model, **options)


class Batches(unittest.TestCase):
    def setUp(self) -> None:
        self.problem = Problem()
        x, y = self.problem.x, self.problem.y
        self.batches = [(x[:5], y[:5]), (x[5:20], y[5:20]), (x[20:], y[20:])]

    def loss(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        return functional.cross_entropy(self.problem.model(batch[0]), batch[1])

    def test_batches_of_unequal_size_are_the_whole(self) -> None:
        whole = top(self.problem.loss(), self.problem.model)

        def loader() -> Iterator[tuple[Tensor, Tensor]]:
            yield from self.batches

        dataset = torch.utils.data.TensorDataset(self.problem.x, self.problem.y)
        equal = torch.utils.data.DataLoader(dataset, batch_size=9)
        for batches in (self.batches, loader, iter(self.batches), equal):
            torch.testing.assert_close(
                top(self.loss, self.problem.model, batches=batches), whole, atol=1e-9, rtol=0
            )
        named = [{"name": "a", "x": x, "y": y} for x, y in self.batches]
        torch.testing.assert_close(
            top(lambda b: self.loss((b["x"], b["y"])), self.problem.model, batches=named),
            whole,
            atol=1e-9,
            rtol=0,
        )

    def test_so_are_those_of_the_other_operators(self) -> None:
        model = self.problem.model
        outputs = kappascope.Outputs(model(self.problem.x))
        torch.testing.assert_close(
            top(
                kappascope.Outputs(lambda b: model(b[0])),
                model,
                batches=self.batches,
                operator="ggn",
                which="largest",
            ),
            top(outputs, model, operator="ggn", which="largest"),
            atol=1e-9,
            rtol=0,
        )
        torch.testing.assert_close(
            top(
                lambda b: functional.cross_entropy(model(b[0]), b[1], reduction="none"),
                model,
                batches=self.batches,
                operator="fisher",
                which="largest",
            ),
            top(self.problem.losses(), model, operator="fisher", which="largest"),
            atol=1e-9,
            rtol=0,
        )

    def test_a_loader_that_shuffles_is_refused_with_both_values(self) -> None:
        turned = self.batches[1:] + self.batches[:1]
        passes = iter([self.batches, self.batches, turned])
        with self.assertRaisesRegex(kappascope.Error, r"two evaluations gave \S+ and \S+\)"):
            kappascope.spectrum(self.loss, self.problem.model, batches=lambda: next(passes))

    def test_a_loader_that_runs_dry_is_named(self) -> None:
        passes = iter([self.batches, self.batches[:2]])
        with self.assertRaisesRegex(ValueError, "more than 2 batches at first"):
            kappascope.spectrum(self.loss, self.problem.model, batches=lambda: next(passes))

    def test_a_callable_alone_is_its_tensor_also_where_gradients_are_off(self) -> None:
        with torch.no_grad():
            found = top(self.problem.loss, self.problem.model)
        torch.testing.assert_close(found, top(self.problem.loss(), self.problem.model))

    def test_a_loss_may_take_gradients_itself(self) -> None:
        weight = nn.Parameter(torch.tensor([1.0, 2.0], dtype=torch.float64))

        def penalty() -> Tensor:
            (gradient,) = torch.autograd.grad((weight**3).sum(), weight, create_graph=True)
            return gradient.square().sum()  # Σ 9 w⁴

        with torch.no_grad():
            values = top(penalty, [weight], top=1)
        torch.testing.assert_close(values, torch.tensor([432.0, 108.0], dtype=torch.float64))


class NothingIsChanged(unittest.TestCase):
    def test_neither_mode_grad_parameters_nor_random_states(self) -> None:
        problem = Problem()
        problem.model.train()
        problem.loss().backward()
        grads = [p.grad.clone() for p in problem.model.parameters() if p.grad is not None]
        values = [p.detach().clone() for p in problem.model.parameters()]
        state = torch.get_rng_state()

        def loss() -> Tensor:
            torch.rand(3)
            return problem.loss()

        kappascope.spectrum(loss, problem.model, top=1)
        kappascope.density(loss, problem.model, steps=5, starts=2)
        kappascope.trace(loss, problem.model, max_products=10)
        self.assertTrue(torch.equal(state, torch.get_rng_state()))
        self.assertTrue(all(m.training for m in problem.model.modules()))
        for p, value, grad in zip(problem.model.parameters(), values, grads, strict=True):
            self.assertTrue(torch.equal(p, value))
            assert p.grad is not None
            self.assertTrue(torch.equal(p.grad, grad))

    def test_nor_running_means(self) -> None:
        torch.manual_seed(0)
        model = nn.Sequential(Gated(), nn.BatchNorm1d(3)).double()
        x = torch.randn(9, 5, dtype=torch.float64)
        before = {name: value.clone() for name, value in model.state_dict().items()}
        kappascope.spectrum(lambda: model(x).pow(3).mean(), model, top=1)
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)


if __name__ == "__main__":
    unittest.main()
