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
    def norms_of(self, clip: Callable[[nn.Module], Tensor | None]) -> tuple[list[float], list[float]]:
        """Those that `clip` returned, a step each, and those of the run."""
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        told = []
        with kappascope.attach(model, optimizer, self.run_dir(), every=100):
            for tokens in batches(5):
                loss_of(model(tokens), tokens).backward()
                norm = clip(model)
                told.append(0.0 if norm is None else norm.item())
                optimizer.step()
                optimizer.zero_grad()
        found = kappascope.read(self.run_dir()).series("gradient_norm")
        return told, found[0].value.tolist() if found else []

    def test_it_is_that_before_clipping(self) -> None:
        told, found = self.norms_of(lambda model: clip_grad_norm_(model.parameters(), 0.01))
        self.assertEqual(told, found)
        self.assertGreater(min(told), 0.01)

    def test_it_is_found_by_any_name_and_last_of_several(self) -> None:
        def twice(model: nn.Module) -> Tensor:
            clip_grad_norm_(model.parameters(), 1e-3)
            return nn.utils.clip_grad_norm_(list(model.parameters()), 1.0)

        told, found = self.norms_of(twice)
        self.assertEqual(told, found)
        self.assertLess(max(told), 1.1e-3)

    def test_that_of_a_part_or_of_another_kind_is_none(self) -> None:
        def some(model: nn.Module) -> Tensor:
            clip_grad_norm_(model.parameters(), 1.0, norm_type=float("inf"))
            other = nn.Linear(2, 2)
            other(torch.ones(1, 2)).sum().backward()
            clip_grad_norm_([*model.parameters(), *other.parameters()], 1.0)
            return clip_grad_norm_(model.head.parameters(), 1.0)  # type: ignore[union-attr]

        _, found = self.norms_of(some)
        self.assertEqual(found, [])

    def test_a_loop_that_does_not_clip_has_none_and_clipping_is_as_it_was_afterwards(self) -> None:
        _, found = self.norms_of(lambda model: None)
        self.assertEqual(found, [])
        self.assertIs(clip_grad._get_total_norm, ORIGINAL)


if __name__ == "__main__":
    unittest.main()
