# SPDX-License-Identifier: Apache-2.0
"""Gates in a watched loop: how far they are open, against what the test counts itself."""

import unittest
from typing import Any

import kappascope
import torch
from torch import Tensor, nn
from torch.nn import functional
from training import Attached, Mlp, Model, batches, loss_of

GIVEN: dict[str, Any] = {"every": 3, "window": 2, "budget": 0, "probes": ["gates"], "existing": "new-name"}


class Packed(nn.Module):
    """As Phi-3 has it: the gate first."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate_up_proj = nn.Linear(width, 2 * hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up_proj(x).chunk(2, -1)
        return self.down_proj(functional.silu(gate) * up)


class InPlace(Mlp):
    """Its activation overwrites what enters it."""

    def forward(self, x: Tensor) -> Tensor:
        gate = self.gate_proj(x)
        return self.down_proj(functional.relu(gate, inplace=True) * self.up_proj(x))


class Plain(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(functional.gelu(self.fc1(x)))


def model_of(kind: type[nn.Module]) -> Model:
    torch.manual_seed(1)
    model = Model()
    model.layers = nn.ModuleList(kind(6, 8) for _ in range(2))
    return model


def hooks_of(model: nn.Module) -> int:
    return sum(len(module._forward_hooks) for module in model.modules())


class Seen(Attached):
    def watch(self, model: Model, mask: Tensor | None = None) -> tuple[Any, list[Tensor]]:
        """The run, and what entered the gates of the first layer, a step each."""
        entered: list[Tensor] = []
        first = next(iter(model.layers[0].children()))  # the gate's projection where there is a gate
        first.register_forward_hook(lambda _, __, out: entered.append(out.detach()[..., :8].clone()))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        scope = kappascope.attach(model, optimizer, self.run_dir(), **GIVEN)
        hooks = hooks_of(model)
        for tokens in batches(4, rows=4):
            inputs = {} if mask is None else {"attention_mask": mask}
            loss_of(model(tokens, **inputs), tokens).backward()
            optimizer.step()
            optimizer.zero_grad()
        self.assertLessEqual(hooks_of(model), hooks)  # none is left on a gate
        run = kappascope.read(scope.run)
        scope.close()
        return run, entered

    def check(self, run: Any, name: str, entered: Tensor) -> None:
        """entered: [rows, channels], of the last window."""
        expected = {
            "gates/open": (entered > 0).double().mean().item(),
            "gates/saturated": (entered.abs() > 4).double().mean().item(),
            "gates/closed": (entered <= 0).all(0).sum().item(),
            "gates/always_open": (entered > 0).all(0).sum().item(),
        }
        for series, value in expected.items():
            (found,) = run.series(series, name)
            self.assertAlmostEqual(found.value[-1].item(), value, 12, series)
            self.assertEqual(found.rows[-1].item(), len(entered))

    def test_of_either_kind_as_counted_here(self) -> None:
        for kind in (Mlp, Packed):
            with self.subTest(kind=kind.__name__):
                model = model_of(kind)
                with torch.no_grad():
                    weight = next(model.layers[0].parameters())
                    weight[:8].mul_(20)
                run, entered = self.watch(model)
                self.check(run, "layers.0.down_proj", torch.cat(entered[2:4]).flatten(0, 1))
                (saturated,) = run.series("gates/saturated", "layers.0.down_proj")
                self.assertGreater(saturated.value[-1].item(), 0)

    def test_padding_is_left_out(self) -> None:
        mask = torch.ones(4, 5, dtype=torch.long)
        mask[1, 3:] = 0
        run, entered = self.watch(model_of(Mlp), mask)
        kept = torch.cat([step[mask.bool()] for step in entered[2:4]])
        self.check(run, "layers.0.down_proj", kept)

    def test_recomputed_passes_count_once(self) -> None:
        for how in ("reentrant", "other"):
            with self.subTest(how=how):
                model = model_of(Mlp)
                model.recompute = how
                for layer in model.layers:
                    layer.dropout.p = 0.0
                run, _ = self.watch(model)
                (found,) = run.series("gates/open", "layers.0.down_proj")
                self.assertEqual(found.rows[-1].item(), 2 * 4 * 5)

    def test_what_an_activation_overwrites_is_not_counted(self) -> None:
        run, _ = self.watch(model_of(InPlace))
        self.assertEqual(run.series("gates/open"), [])

    def test_a_layer_without_a_gate_has_none(self) -> None:
        run, _ = self.watch(model_of(Plain))
        self.assertEqual(run.series("gates/open"), [])

    def test_a_compiled_model_keeps_its_graphs(self) -> None:
        wanted, run = self.graphs_of(model_of(Mlp), {**GIVEN, "probes": ["magnitudes"]})
        self.assertNotEqual(run.series("magnitude/largest"), [])
        graphs, run = self.graphs_of(model_of(Mlp), {**GIVEN, "probes": ["gates"]})
        self.assertEqual(graphs, wanted)
        self.assertEqual(run.series("gates/open"), [])


if __name__ == "__main__":
    unittest.main()
