# SPDX-License-Identifier: Apache-2.0
"""A loop of a client in this process: what the run holds of it is what the loop computed and what passed."""

import copy
import sys
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kappascope
import torch
from checked import checked
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parent.parent / "python/watching"))
from families_test import reference  # noqa: E402

STEPS = 4
Optimizers = list[Any]
"""The first one is watched."""
Made = tuple[nn.Module, Optimizers]


class Loop(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run_dir = Path(folder.name) / "run"
        self.alarms: list[Any] = []

    def attach(self, made: Made, **options: Any) -> kappascope.Scope:
        model, optimizers = made
        given = {"every": 2, "window": 2, "budget": 0, "on_alarm": self.alarms.append}
        return kappascope.attach(model, optimizers[0], self.run_dir, **given, **options)

    def check(
        self,
        client: str,
        layers: list[str],
        make: Callable[[], Made],
        update: Callable[[nn.Module, Optimizers, int], float],
    ) -> None:
        """make: of float64; update: the one of a number, of one pass (further ones after it are those of a
        closure that is evaluated again); gives the loss of that pass."""
        torch.manual_seed(1)
        made = make()
        scope = self.attach(made)
        entered: dict[str, list[list[Tensor]]] = {layer.name: [] for layer in scope.layers}
        for layer in scope.layers:
            layer.module.register_forward_pre_hook(
                lambda _, x, passes=entered[layer.name]: passes[-1].append(x[0].detach().flatten(0, -2))
            )
        losses = []
        weights: dict[str, list[Tensor]] = {name: [] for name in entered}
        for number in range(STEPS):
            for passes in entered.values():
                passes.append([])
            for layer in scope.layers:
                if isinstance(layer.module, nn.Linear):
                    weights[layer.name].append(layer.module.weight.detach().clone())
            losses.append(update(*made, number))
        scope.close("interrupted")
        with checked(client, "loss"):
            self.check_losses(losses)
        run = kappascope.read(self.run_dir)
        with checked(client, "layers"):
            self.assertEqual([layer.name for layer in scope.layers], layers)
            self.assertEqual([series.layer for series in run.series("kappa/sigma")], layers)
        with checked(client, "κ"):
            for name, updates in entered.items():
                self.check_kappa(name, torch.cat([passes[0] for passes in updates[:2]]))
        with checked(client, "sizes"):
            for name, updates in entered.items():
                largest = max(passes[0].abs().max().item() for passes in updates[:2])
                stored = run.series("magnitude/largest", name)[0]
                self.assertEqual(stored.value[0].item(), largest)
        if all(weights.values()):
            with checked(client, "updates"):
                for name, (before, after, *_) in weights.items():
                    self.check_update(name, before, after)
        losses += self.resumed(make, update, made)
        with checked(client, "resume"):
            self.check_losses(losses)
            facts = kappascope.read(self.run_dir).facts
            self.assertEqual((facts["resumed"], facts["state"]), (f"from step {STEPS}", "finished"))
        with checked(client, "no alarm"):
            self.assertEqual(self.alarms, [])

    def check_losses(self, losses: list[float]) -> None:
        stored = kappascope.read(self.run_dir).series("loss/train")[0]
        self.assertEqual(stored.step.tolist(), list(range(len(losses))))
        for ours, theirs in zip(stored.value.tolist(), losses, strict=True):
            self.assertAlmostEqual(ours, theirs, delta=1e-6 * abs(theirs))  # stored in float

    def check_kappa(self, name: str, x: Tensor) -> None:
        """x: what entered the layer in the first window."""
        series = kappascope.read(self.run_dir).series("kappa/sigma", name)[0]
        self.assertEqual(series.rows[0].item(), len(x))
        self.assertLess(reference(x), 1e7)  # double says no more to eight digits
        self.assertAlmostEqual(series.value[0].item() / reference(x), 1, delta=1e-8)

    def check_update(self, name: str, before: Tensor, after: Tensor) -> None:
        ratio = ((after - before).norm() / before.norm()).item()
        self.assertGreater(ratio, 0)
        stored = kappascope.read(self.run_dir).series("weight/down_update", name)[0]
        # Of large matrices a sample of the entries.
        self.assertLessEqual(stored.lower[0].item(), ratio * (1 + 1e-12))
        self.assertGreaterEqual(stored.upper[0].item(), ratio * (1 - 1e-12))

    def resumed(self, make: Any, update: Any, before: Made) -> list[float]:
        """Two updates more, of another model and optimiser with the states of those before."""
        made = make()
        for new, old in zip((made[0], *made[1]), (before[0], *before[1]), strict=True):
            new.load_state_dict(copy.deepcopy(old.state_dict()))
        with self.attach(made, existing="resume", step=STEPS):
            return [update(*made, number) for number in (STEPS, STEPS + 1)]
