# SPDX-License-Identifier: Apache-2.0
"""The norm of the gradients is found where a loop clips them by it."""

import unittest
from collections.abc import Callable

import kappascope
import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad, clip_grad_norm_  # by its own name, from before a run was open
from training import Attached, Model, batches, loss_of

ORIGINAL = clip_grad._get_total_norm


class Clipping(Attached):
    def norms_of(
        self, clip: Callable[[nn.Module, kappascope.Scope], Tensor | float | None]
    ) -> tuple[list[float], list[float]]:
        """Those that `clip` returned, a step each, and those of the run."""
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        told = []
        with kappascope.attach(model, optimizer, self.run_dir(), every=100) as scope:
            for tokens in batches(5):
                loss_of(model(tokens), tokens).backward()
                told.append(float(clip(model, scope) or 0.0))
                optimizer.step()
                optimizer.zero_grad()
        found = kappascope.read(self.run_dir()).series("gradient_norm")
        return told, found[0].value.tolist() if found else []

    def test_it_is_that_before_clipping_by_any_name(self) -> None:
        def twice(model: nn.Module, _: kappascope.Scope) -> float:
            norm = clip_grad_norm_(model.parameters(), 0.01)
            told = norm.item()
            nn.utils.clip_grad_norm_(list(model.parameters()), 1.0)
            norm.clamp_(max=1e-6)  # the loop's own
            return told

        told, found = self.norms_of(twice)
        self.assertEqual(told, found)
        self.assertGreater(min(told), 0.01)

    def test_what_is_told_comes_first(self) -> None:
        def tell(model: nn.Module, scope: kappascope.Scope) -> float:
            scope.gradient_norm(7.0)
            clip_grad_norm_(model.parameters(), 1.0)
            return 7.0

        told, found = self.norms_of(tell)
        self.assertEqual(told, found)

    def test_that_of_a_part_or_of_another_kind_is_none(self) -> None:
        def some(model: nn.Module, _: kappascope.Scope) -> None:
            clip_grad_norm_(model.parameters(), 1.0, norm_type=float("inf"))
            other = nn.Linear(2, 2)
            clip_grad_norm_(other.parameters(), 1.0)  # which has no gradients
            other(torch.ones(1, 2)).sum().backward()
            clip_grad_norm_([*model.parameters(), *other.parameters()], 1.0)
            clip_grad_norm_(model.head.parameters(), 1.0)  # type: ignore[union-attr]

        _, found = self.norms_of(some)
        self.assertEqual(found, [])

    def test_one_after_the_update_is_not_that_of_the_next(self) -> None:
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        with kappascope.attach(model, optimizer, self.run_dir(), every=100):
            for tokens in batches(3):
                loss_of(model(tokens), tokens).backward()
                optimizer.step()
                clip_grad_norm_(model.parameters(), 1.0)
                optimizer.zero_grad()
        self.assertEqual(kappascope.read(self.run_dir()).series("gradient_norm"), [])

    def test_a_compiled_function_may_clip(self) -> None:
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

        @torch.compile(backend="eager", fullgraph=True)
        def clip() -> Tensor:
            return clip_grad_norm_(model.parameters(), 1.0)

        with kappascope.attach(model, optimizer, self.run_dir(), every=100):
            for tokens in batches(2):
                loss_of(model(tokens), tokens).backward()
                clip()
                optimizer.step()
                optimizer.zero_grad()
        self.assertEqual(len(kappascope.read(self.run_dir()).series("loss/train")[0].step), 2)

    def test_one_of_scaled_gradients_is_divided_and_told(self) -> None:
        norms = {}
        for unscaled in (True, False):
            torch.manual_seed(0)
            model = Model()
            optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
            scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)  # type: ignore[attr-defined]
            name = f"unscaled {unscaled}"
            with kappascope.attach(model, optimizer, self.run_dir(name), every=100) as scope:
                for tokens in batches(3):
                    scaler.scale(loss_of(model(tokens), tokens)).backward()
                    if unscaled:
                        scaler.unscale_(optimizer)
                    clip_grad_norm_(model.parameters(), 1e6)  # which changes nothing
                    scaler.step(optimizer)
                    scaler.update()
                    optimizer.zero_grad()
                self.assertEqual("call scaler.unscale_(optimizer)" in scope.describe(), not unscaled)
            norms[unscaled] = kappascope.read(self.run_dir(name)).series("gradient_norm")[0].value.tolist()
        self.assertEqual(len(norms[True]), 3)
        for mine, divided in zip(norms[True], norms[False], strict=True):
            self.assertAlmostEqual(divided / mine, 1, places=6)

    def test_a_loop_that_does_not_clip_has_none_and_clipping_is_as_it_was_afterwards(self) -> None:
        _, found = self.norms_of(lambda model, scope: None)
        self.assertEqual(found, [])
        self.assertIs(clip_grad._get_total_norm, ORIGINAL)


if __name__ == "__main__":
    unittest.main()
