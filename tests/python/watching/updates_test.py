# SPDX-License-Identifier: Apache-2.0
"""What counts as an update, and what belongs to it: optimisers of all kinds."""

import itertools
import unittest
from typing import Any

import kappascope
import torch
from losses_test import Watched
from torch import Tensor, nn
from training import Model, batches, loss_of

TOLD = "told by scope.loss()"


class ByHand:
    """Gradient descent that is no torch.optim.Optimizer."""

    def __init__(self, model: nn.Module, rate: float) -> None:
        self.parameters, self.rate = list(model.parameters()), rate

    def step(self) -> None:
        with torch.no_grad():
            for parameter in self.parameters:
                if parameter.grad is not None:
                    parameter -= self.rate * parameter.grad
                    parameter.grad = None


class Wrapper:
    """As those of Accelerate and Lightning: it has the optimiser, and none of its hooks."""

    def __init__(self, optimizer: torch.optim.Optimizer, scaler: Any = None) -> None:
        self.optimizer, self.scaler = optimizer, scaler
        self.param_groups = optimizer.param_groups

    def step(self) -> None:
        self.optimizer.step()


class WithoutRate(torch.optim.SGD):
    """Makes its own rate, as Adafactor of transformers does."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, lr=0.0)
        self.param_groups[0]["lr"] = None

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for parameter in self.param_groups[0]["params"]:
            parameter -= 1e-2 * parameter.grad


class Optimizers(Watched):
    def test_one_that_a_library_wraps(self) -> None:
        model = Model()
        self.check_loop(model, Wrapper(torch.optim.SGD(model.parameters(), lr=1e-2)))
        self.assertEqual(kappascope.read(self.run_dir()).facts["optimizer"], "SGD")

    def test_one_that_is_written_by_hand(self) -> None:
        model = Model()
        self.check_loop(model, ByHand(model, 1e-2), before_update=lambda scope: scope.step(1e-2))
        run = kappascope.read(self.run_dir())
        self.assertEqual(run.series("learning_rate")[0].value.tolist(), [1e-2] * 4)
        self.assertEqual(len(run.series("kappa/sigma", "layers.0.down_proj")), 1)

    def test_a_step_that_would_count_twice_is_refused(self) -> None:
        model = Model()
        with self.attach(model, torch.optim.SGD(model.parameters(), lr=1.0)) as scope:
            with self.assertRaisesRegex(kappascope.Error, "count it twice"):
                scope.step()

    def test_one_without_a_rate(self) -> None:
        model = Model()
        self.check_loop(model, WithoutRate(model.parameters()))
        self.assertEqual(kappascope.read(self.run_dir()).series("learning_rate"), [])

    def test_one_whose_rate_is_a_tensor(self) -> None:
        model, rate = Model(), torch.tensor(0.25)
        optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
        with self.attach(model, optimizer):
            for tokens in batches(2):
                loss_of(model(tokens), tokens).backward()
                optimizer.step()
                rate.mul_(0.5)
        rates = kappascope.read(self.run_dir()).series("learning_rate")[0]
        self.assertEqual(rates.value.tolist(), [0.25, 0.125])


class Closures(Watched):
    def evaluated(self, tells: bool, **options: Any) -> list[float]:
        """Two steps of L-BFGS; gives the loss that each began with."""
        model = Model().eval()
        optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4, **options)
        first = []
        with self.attach(model, optimizer) as scope:
            for tokens in batches(2):
                losses: list[float] = []

                def closure(tokens: Tensor = tokens, losses: list[float] = losses) -> Tensor:
                    optimizer.zero_grad()
                    loss = loss_of(model(tokens), tokens)
                    loss.backward()
                    if tells:
                        scope.loss(loss)
                    losses.append(loss.item())
                    return loss

                optimizer.step(closure)
                self.assertGreater(len(losses), 2)
                self.assertGreater(losses[0] - losses[-1], 1e-3)
                first.append(losses[0])
        return first

    def test_what_a_line_search_evaluates_later_is_not_of_the_next_step(self) -> None:
        self.check(self.evaluated(tells=True), TOLD)

    def test_a_line_search_that_tells_nothing_has_its_loss(self) -> None:
        self.check(self.evaluated(tells=False, line_search_fn="strong_wolfe"))

    def test_passes_before_the_closure_are_of_its_update(self) -> None:
        """As Lightning accumulates: the last of the passes is made within step(closure)."""
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        losses = []
        with self.attach(model, optimizer):
            for tokens in batches(3):
                each = []

                def one(part: Tensor, each: list[float] = each) -> Tensor:
                    loss = loss_of(model(part), part) / 2
                    loss.backward()
                    each.append(loss.item())
                    return loss.detach()

                before, last = tokens.chunk(2)
                one(before)
                optimizer.step(lambda last=last, one=one: one(last))
                optimizer.zero_grad()
                losses.append(sum(each))
        self.check(losses)


class Scaled(Watched):
    """An update that a GradScaler skips is no step, whoever skips it: the scaler, or a fused optimiser
    within its step()."""

    def losses(self, fused: bool, given: bool, overflows: int) -> list[float]:
        """Of the passes that did not overflow."""
        model = Model()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=fused)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)  # type: ignore[attr-defined]
        options: dict[str, Any] = {"scaler": scaler} if given else {}
        losses = []
        with self.attach(model, optimizer, probes=["features", "gradient_variance"], **options):
            for i, tokens in enumerate(batches(5)):
                loss = loss_of(model(tokens), tokens)
                scaler.scale(loss).backward()
                if i == overflows:
                    assert model.head.weight.grad is not None
                    model.head.weight.grad[0, 0] = float("inf")
                else:
                    losses.append(loss.item())
                before = model.head.weight.detach().clone()
                scaler.step(optimizer)
                self.assertEqual(torch.equal(before, model.head.weight), i == overflows)
                scaler.update()
                optimizer.zero_grad()
        return losses

    def test_skipped_updates_and_the_scale(self) -> None:
        for how in itertools.product((False, True), (False, True), (0, 2)):
            fused, given, overflows = how
            with self.subTest(fused=fused, given=given, overflows=overflows):
                self.setUp()
                self.check(self.losses(*how))
                run = kappascope.read(self.run_dir())
                unscaled = run.series("gradvar/measured", "layers.0.down_proj")[0]
                # Of gradients taken for 1,024 times themselves it would be a million times as large.
                self.assertLess(unscaled.value.max().item(), 1)

    def test_a_scaler_of_two_optimisers(self) -> None:
        model = Model()
        layers, others = list(model.layers.parameters()), list(model.head.parameters())
        optimizers = [torch.optim.SGD(part, lr=1e-2) for part in (layers, others)]
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)  # type: ignore[attr-defined]
        losses = []
        with self.attach(model, optimizers[1]):
            for tokens in batches(3):
                loss = loss_of(model(tokens), tokens)
                scaler.scale(loss).backward()
                for optimizer in optimizers:
                    scaler.step(optimizer)
                    optimizer.zero_grad()
                scaler.update()
                losses.append(loss.item())
        self.check(losses)


if __name__ == "__main__":
    unittest.main()
