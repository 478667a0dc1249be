# SPDX-License-Identifier: Apache-2.0
"""Curvature as optimizers see it: torch's own steps fall below the limit and grow above it."""

import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kappascope
import torch
from models import Problem
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer, RMSprop

# Second moments that do not move, so that the steps are linear.
_STILL = 1 - 1e-15
MAKERS: dict[str, Callable[[Any], Optimizer]] = {
    "Adam": lambda p: Adam(p, lr=1e-3, betas=(0.9, _STILL)),
    "AdamW": lambda p: AdamW(p, lr=1e-3, betas=(0.5, _STILL), weight_decay=0),
    "RMSprop": lambda p: RMSprop(p, lr=1e-3, alpha=_STILL),
    "RMSprop, momentum, centred": lambda p: RMSprop(
        p, lr=1e-3, alpha=_STILL, momentum=0.6, centered=True
    ),
    "SGD": lambda p: SGD(p, lr=1e-3),
    "SGD, momentum": lambda p: SGD(p, lr=1e-3, momentum=0.9),
}


def quadratic() -> tuple[Tensor, Tensor]:
    torch.manual_seed(2)
    root = torch.randn(5, 5, dtype=torch.float64)
    return root @ root.T + 0.1 * torch.eye(5), torch.randn(5, dtype=torch.float64)


def lengths(make: Callable[[Any], Optimizer], share: float) -> tuple[float, float]:
    """The greatest |x| in 2,000 steps and the last, over the first, on a quadratic whose largest
    eigenvalue is that share of the limit. Above the limit growth by 100 ends it."""
    matrix, start = quadratic()
    x = nn.Parameter(start.clone())
    optimizer = make([x])

    def loss() -> Tensor:
        return 0.5 * x @ matrix @ x

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    step()
    state = optimizer.state[x]
    for name in ("exp_avg_sq", "square_avg"):
        if name in state:
            state[name].copy_(torch.logspace(-4, -2, 5))
    if "grad_avg" in state:
        state["grad_avg"].copy_(torch.full((5,), 5e-3))
    if "exp_avg" in state:
        state["step"].fill_(1e6)  # past the corrections of the first steps
    found = kappascope.spectrum(loss, [x], optimizer=optimizer, top=1, tol=1e-6)
    assert found.stability_limit is not None
    seen = found.eigenvalues[0].item() / found.stability_limit
    optimizer.param_groups[0]["lr"] *= share / seen
    with torch.no_grad():
        x.copy_(start)
    seen_lengths = []
    for _ in range(2000):
        step()
        seen_lengths.append(x.norm().item() / start.norm().item())
        if share > 1 and seen_lengths[-1] > 100:
            break
    return max(seen_lengths), seen_lengths[-1]


class Muon(Optimizer):
    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, {"lr": 1e-3})

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        pass


class Lion(Adam):
    """Adam's state, and a step of its own."""

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        pass


class Optimizers(unittest.TestCase):
    def test_torchs_steps_fall_below_the_limit_and_grow_above_it(self) -> None:
        for name, make in MAKERS.items():
            with self.subTest(name):
                self.assertLess(lengths(make, 0.97)[1], 0.1)
                # Far from the minimum the second moments do move.
                self.assertGreater(lengths(make, 1.03)[0], 100)

    def trained(self, make: Callable[[Any], Optimizer]) -> tuple[Problem, Optimizer]:
        problem = Problem()
        optimizer = make(problem.model.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            problem.loss().backward()
            optimizer.step()
        return problem, optimizer

    def test_the_spectrum_is_that_of_the_dense_preconditioned_matrix(self) -> None:
        problem, optimizer = self.trained(lambda p: Adam(p, lr=1e-2))
        parameters = list(problem.model.parameters())
        squares = torch.cat([optimizer.state[p]["exp_avg_sq"].flatten() for p in parameters])
        diagonal = (1 - 0.9**3) * ((squares / (1 - 0.999**3)).sqrt() + 1e-8)
        scale = diagonal.rsqrt()
        dense = scale[:, None] * problem.dense() * scale
        found = kappascope.spectrum(problem.loss, problem.model, optimizer=optimizer, tol=1e-8)
        expected = torch.linalg.eigvalsh(dense).flip(0)[:5]
        torch.testing.assert_close(found.eigenvalues, expected, rtol=1e-8, atol=0)
        self.assertAlmostEqual(found.stability_limit or 0, 3800, delta=1e-6)
        self.assertIn("unstable above 3800", str(found))
        # Of some parameters: their block.
        some = kappascope.spectrum(
            problem.loss, problem.model, optimizer=optimizer, only="up.*", tol=1e-8, top=1
        )
        count = problem.model.up.weight.numel()
        first = list(dict(problem.model.named_parameters())).index("up.weight")
        before = sum(p.numel() for p in parameters[:first])
        block = dense[before : before + count, before : before + count]
        self.assertAlmostEqual(
            some.eigenvalues[0].item(), torch.linalg.eigvalsh(block)[-1].item(), delta=1e-6
        )

    def test_what_is_not_known_is_refused_by_name(self) -> None:
        def refused(make: Callable[[Any], Optimizer]) -> str:
            problem, optimizer = self.trained(make)
            with self.assertRaises(ValueError) as raised:
                kappascope.spectrum(problem.loss, problem.model, optimizer=optimizer)
            return str(raised.exception)

        self.assertIn("no limit of stability is known for Muon", refused(Muon))
        self.assertIn("no limit of stability is known for Lion", refused(Lion))
        self.assertIn("nesterov=True", refused(lambda p: SGD(p, 1e-2, 0.9, nesterov=True)))
        self.assertIn("amsgrad=True", refused(lambda p: Adam(p, amsgrad=True)))

        def two_rates(parameters: Any) -> Optimizer:
            first, *rest = parameters
            return Adam([{"params": [first], "lr": 1.0}, {"params": rest}], lr=1e-2)

        self.assertIn("other rates", refused(two_rates))
        self.assertIn("does not train parameter", refused(lambda p: Adam(list(p)[1:])))
        problem = Problem()
        with self.assertRaisesRegex(ValueError, "before its first step"):
            fresh = Adam(problem.model.parameters())
            kappascope.spectrum(problem.loss, problem.model, optimizer=fresh)

    def watched(self, make: Callable[[Any], Optimizer]) -> tuple[kappascope.Run, float, str]:
        """The run, what spectrum() finds before the last step, and the description."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = Path(folder.name) / "run"
        problem = Problem()
        model, optimizer = problem.model, make(problem.model.parameters())
        scope = kappascope.attach(
            model, optimizer, path, layers="down", budget=0, curvature=problem.loss, steps=3
        )
        asked = 0.0
        for step in range(3):
            loss = problem.loss()
            loss.backward()
            scope.loss(loss)
            if step == 2 and not isinstance(optimizer, Muon):
                found = kappascope.spectrum(problem.loss, model, optimizer=optimizer, top=1)
                asked = found.eigenvalues[0].item()
            optimizer.step()
            optimizer.zero_grad()
        text = scope.describe()
        scope.close()
        return kappascope.read(path), asked, text

    def test_a_watched_run_holds_it_beside_the_limit(self) -> None:
        run, asked, _ = self.watched(lambda p: Adam(p, lr=1e-2))
        (series,) = run.series("hessian/preconditioned")
        self.assertEqual(series.step.tolist(), [2])  # no second moments before the first step
        self.assertAlmostEqual(series.value.item() / asked, 1, delta=2e-3)
        (limit,) = run.series("hessian/stability_limit")
        self.assertAlmostEqual(limit.value.item(), 3800, delta=1e-6)

    def test_a_watched_run_says_that_it_does_not_know(self) -> None:
        run, _, text = self.watched(Muon)
        self.assertEqual(run.series("hessian/stability_limit"), [])
        self.assertTrue(run.series("hessian/lambda_1"))
        self.assertIn("no limit of stability is known for Muon", text)


if __name__ == "__main__":
    unittest.main()
