# SPDX-License-Identifier: Apache-2.0
"""A small gated model, and loops that train it watched and not."""

import tempfile
import unittest
from pathlib import Path
from typing import Any, TypeVar

import kappascope
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

M = TypeVar("M", bound=nn.Module)

torch.set_num_threads(1)


class Mlp(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(width, hidden, bias=False)
        self.up_proj = nn.Linear(width, hidden, bias=False)
        self.down_proj = nn.Linear(hidden, width, bias=False)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.dropout(self.up_proj(x)))


class Model(nn.Module):
    """Tokens -> two gated layers -> logits."""

    def __init__(self, recompute: str = "") -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 6)
        self.layers = nn.ModuleList(Mlp(6, 8) for _ in range(2))
        self.head = nn.Linear(6, 20)
        self.recompute = recompute

    def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            if self.recompute:
                x = x + checkpoint(layer, x, use_reentrant=self.recompute == "reentrant")
            else:
                x = x + layer(x)
        return self.head(x)


def undropped(model: M) -> M:
    """Without its random masks."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model


def batches(count: int, rows: int = 8, length: int = 5) -> list[Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randint(20, (rows, length), generator=generator) for _ in range(count)]


def loss_of(logits: Tensor, tokens: Tensor, reduction: str = "mean") -> Tensor:
    return functional.cross_entropy(logits.flatten(0, 1), tokens.flatten(), reduction=reduction)


def step(
    model: nn.Module, optimizer: torch.optim.Optimizer, scope: Any, tokens: Tensor, **inputs: Any
) -> None:
    """One update; the loss is told to `scope`."""
    loss = loss_of(model(tokens, **inputs), tokens)
    loss.backward()
    scope.loss(loss)
    optimizer.step()


class Attached(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_dir(self, name: str = "run") -> str:
        return str(Path(self.folder.name) / name)

    def graphs_of(self, model: nn.Module, given: dict[str, Any], part: str = "") -> tuple[int, Any]:
        """How many a model that is compiled, or of which a part is, has in four steps, and the run.

        given: options of attach().
        """
        torch._dynamo.reset()
        graphs = 0

        def backend(graph: torch.fx.GraphModule, _: Any) -> Any:
            nonlocal graphs
            graphs += 1
            return graph.forward

        compiled: Any = model if part else torch.compile(model, backend=backend)
        if part:
            model.get_submodule(part).compile(backend=backend)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with kappascope.attach(compiled, optimizer, self.run_dir(), **given) as scope:
            for tokens in batches(4, rows=4):
                loss_of(compiled(tokens), tokens).backward()
                optimizer.step()
        return graphs, kappascope.read(scope.run)

    def train(
        self,
        name: str,
        watched: bool = True,
        steps: int = 6,
        parts: int = 1,
        model: nn.Module | None = None,
        lr: float = 1e-2,
        **options: Any,
    ) -> tuple[nn.Module, dict[str, list[Tensor]]]:
        """Adam, dropout; `parts` passes an update. Gives the model, and what entered each layer.

        lr: its learning rate. Other options are those of attach().
        """
        torch.manual_seed(5)
        model = model or Model()
        entered: dict[str, list[Tensor]] = {}
        for module_name, module in model.named_modules():
            if module_name.endswith("down_proj"):
                kept = entered.setdefault(module_name, [])
                module.register_forward_pre_hook(
                    lambda _, inputs, kept=kept: kept.append(inputs[0].detach().clone())
                )
        optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        scope = None
        if watched:
            given: dict[str, Any] = {"every": 3, "window": 2, "budget": 0, "steps": steps}
            scope = kappascope.attach(model, optimizer, self.run_dir(name), **{**given, **options})
        torch.manual_seed(6)
        for tokens in batches(steps):
            for part in tokens.chunk(parts):
                loss = loss_of(model(part), part) / parts
                loss.backward()
                if scope is not None:
                    scope.loss(loss * parts)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        if scope is not None:
            scope.close()
        return model, entered

    def value(self, name: str, series: str, layer: str, index: int = -1) -> float:
        found = kappascope.read(self.run_dir(name)).series(series, layer)
        self.assertEqual(len(found), 1, f"{series} of {layer}")
        return found[0].value[index].item()

    def rows(self, name: str) -> list[float]:
        found = kappascope.read(self.run_dir(name)).series("kappa/sigma", "layers.0.down_proj")
        return found[0].rows.tolist()
