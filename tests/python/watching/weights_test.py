# SPDX-License-Identifier: Apache-2.0
"""Weights and sizes of features in a watched loop, against the model's own tensors."""

import unittest
from typing import Any
from unittest import mock

import kappascope
import torch
from kappascope._watch.layers import find_layers
from kappascope._watch.weights import weights_of
from torch import Tensor, nn
from torch.nn import functional
from training import Attached, Model


class Packed(nn.Module):
    """As Phi-3 has it."""

    def __init__(self) -> None:
        super().__init__()
        self.gate_up_proj = nn.Linear(6, 16, bias=False)
        self.down_proj = nn.Linear(8, 6, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up_proj(x).chunk(2, dim=-1)
        return self.down_proj(functional.silu(gate) * up)


class Measured(Attached):
    def found(self, series: str, layer: int) -> Any:
        run = kappascope.read(self.run_dir("run"))
        (found,) = run.series(series, f"layers.{layer}.down_proj")
        return found

    def test_norms_and_alignment_are_those_of_the_weights(self) -> None:
        model, _ = self.train("run", lr=0.0)
        for i, layer in enumerate(model.layers):  # type: ignore[arg-type, var-annotated]
            for word in ("down", "gate", "up"):
                weight = getattr(layer, f"{word}_proj").weight.detach()
                norm = torch.linalg.matrix_norm(weight, 2).item()
                found = self.found(f"weight/{word}_norm", i)
                self.assertLess(abs(found.value[-1].item() / norm - 1), 1e-3)
                self.assertLessEqual(found.lower[-1].item(), norm * (1 + 1e-6))
                self.assertGreaterEqual(found.upper[-1].item(), norm * (1 - 1e-6))
                rank = (weight.square().sum() / norm**2).item()
                stable = self.value("run", f"weight/{word}_stable_rank", f"layers.{i}.down_proj")
                self.assertLess(abs(stable / rank - 1), 2e-3)
            cosines = functional.cosine_similarity(layer.gate_proj.weight, layer.up_proj.weight)
            largest = self.value("run", "weight/alignment_largest", f"layers.{i}.down_proj")
            self.assertAlmostEqual(largest, cosines.abs().max().item(), 5)

    def test_updates_are_those_of_the_optimiser(self) -> None:
        model = Model()
        layer: Any = model.layers[1]
        held: dict[str, list[Tensor]] = {"down": [], "gate": [], "up": []}

        def remember(*_: Any) -> None:
            for word, weights in held.items():
                weights.append(getattr(layer, f"{word}_proj").weight.detach().clone())

        layer.register_forward_pre_hook(remember)
        self.train("run", model=model, steps=6)
        for word, weights in held.items():
            before, after = (weight.double() for weight in weights[-2:])
            found = self.found(f"weight/{word}_update", 1)
            ratio = ((after - before).norm() / before.norm()).item()
            self.assertAlmostEqual(found.value[-1].item() / ratio, 1, 12)
            self.assertEqual(found.lower[-1].item(), found.upper[-1].item())
        self.assertEqual(self.value("run", "weight/unchanged", "layers.1.down_proj"), 0)

    def test_weights_in_half_precision_say_what_rounding_loses(self) -> None:
        model = Model().to(torch.bfloat16)
        self.train("run", model=model, lr=2e-4)
        share = self.found("weight/unchanged", 0)
        self.assertGreater(share.lower[-1].item(), 0.5)
        self.assertGreater(self.value("run", "weight/down_update", "layers.0.down_proj"), 0)

    def test_sizes_are_those_of_the_features_that_passed(self) -> None:
        _, entered = self.train("run", lr=0.0)
        for layer in ("layers.0.down_proj", "layers.1.down_proj"):
            window = torch.stack(entered[layer][-2:])
            largest = self.value("run", "magnitude/largest", layer)
            self.assertAlmostEqual(largest, window.abs().max().item(), 6)
            zeros = self.value("run", "magnitude/zeros", layer)
            self.assertAlmostEqual(zeros, (window == 0).double().mean().item(), 12)
            middle = self.value("run", "magnitude/median", layer)
            self.assertAlmostEqual(middle, window.abs().median().item(), 6)
            lost = window[window != 0]
            cast = (lost * (448 / lost.abs().max())).to(torch.float8_e4m3fn).float()
            share = self.value("run", "magnitude/lost_e4m3", layer)
            self.assertAlmostEqual(share, (cast == 0).double().mean().item(), 12)


class Matrices(unittest.TestCase):
    def test_a_packed_gate_comes_first(self) -> None:
        model = nn.ModuleList([Packed()])
        (layer,) = find_layers(model)
        down, gate, up = weights_of(layer)
        self.assertTrue(torch.equal(down, model[0].down_proj.weight))
        self.assertTrue(torch.equal(gate, model[0].gate_up_proj.weight[:8]))
        self.assertTrue(torch.equal(up, model[0].gate_up_proj.weight[8:]))

    def test_without_a_known_gate_there_is_the_down_projection_alone(self) -> None:
        plain = nn.Sequential()
        plain.fc1, plain.fc2 = nn.Linear(4, 16), nn.Linear(16, 4)
        (layer,) = find_layers(nn.ModuleList([plain]))
        self.assertEqual([list(w.shape) for w in weights_of(layer)], [[4, 16]])

    def test_what_is_not_whole_is_left_out(self) -> None:
        model = Model()
        layer = find_layers(model)[0]
        whole = model.layers[0].down_proj.weight
        with mock.patch.object(nn.Linear, "weight", whole[:, :3], create=True):
            del model.layers[0].down_proj._parameters["weight"]
            self.assertEqual(weights_of(layer), [])


if __name__ == "__main__":
    unittest.main()
