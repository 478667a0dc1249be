# SPDX-License-Identifier: Apache-2.0
"""A model whose parts lie in several places, as accelerate's device_map puts them."""

import unittest
from pathlib import Path
from typing import Any

import kappascope
import torch
from torch import Tensor, nn
from training import Attached, Model, batches, loss_of, step, undropped


class Spread(Model):
    """Its last part, which no pass uses, lies elsewhere: there is one device here."""

    def __init__(self) -> None:
        super().__init__()
        self.hf_device_map = {"layers.0": "cpu", "elsewhere": "meta"}
        self.elsewhere = nn.Linear(4, 4, device="meta")


class Placed(Attached):
    def watch(self, model: nn.Module, **options: Any) -> kappascope.Run:
        trained = [p for p in model.parameters() if p.device.type != "meta"]
        optimizer = torch.optim.SGD(trained, lr=1e-2)
        given = {"every": 1, "window": 1, "budget": 0, **options}
        with kappascope.attach(model, optimizer, self.run_dir(), **given) as scope:
            for tokens in batches(2):
                step(model, optimizer, scope, tokens)
        return kappascope.read(self.run_dir())

    def test_features_are_measured_where_they_are(self) -> None:
        model = Spread()
        run = self.watch(model)
        self.assertEqual(len(run.series("kappa/sigma")), 2)
        self.assertEqual(run.facts["device"], "cpu, meta")
        count = sum(p.numel() for p in model.parameters())
        self.assertEqual(run.facts["parameters"], str(count))

    def test_a_curvature_over_several_devices_is_refused_with_what_to_do(self) -> None:
        model = Spread()
        tokens = batches(1)[0]

        def curvature() -> Tensor:
            return loss_of(model(tokens), tokens)

        words = r"lie on cpu, meta \(device_map\): curvature needs all of them on one device; leave"
        with self.assertRaisesRegex(kappascope.Error, words):
            self.watch(model, curvature=curvature)
        self.assertFalse(Path(self.run_dir()).exists())

    def test_hooks_that_bring_weights_and_inputs_are_seen_through(self) -> None:
        from accelerate.hooks import AlignDevicesHook, add_hook_to_module

        rows, variance = [], []
        for hooked in (False, True):
            torch.manual_seed(5)
            model = undropped(Model())
            if hooked:
                for module in model.modules():
                    add_hook_to_module(module, AlignDevicesHook("cpu", io_same_device=True))
            run = self.watch(model, existing="new-name" if hooked else "error")
            if hooked:
                run = kappascope.read(self.run_dir() + "-2")
            rows.append([s.rows.tolist() for s in run.series("kappa/sigma")])
            variance.append([s.value.tolist() for s in run.series("gradvar/measured")])
        self.assertEqual(rows[0], rows[1])
        self.assertEqual(variance[0], variance[1])


if __name__ == "__main__":
    unittest.main()
