# SPDX-License-Identifier: Apache-2.0
"""Every family of families_test.py in every trap: the numbers are those of the plain loop.

families_traps_test.py --table prints the table of python/README.md. With KAPPASCOPE_EVERY=3 a third of
the pairs is tried, among them each family and each trap (CI); ./quickstart clients tries all.
"""

import copy
import functools
import os
import sys
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import kappascope
import torch
from families_test import FAMILIES, inputs_of, reference, tolerance, transformers
from torch import Tensor, nn

# Layer -> rows, κ(Σ), and how far it may be off.
Found: TypeAlias = dict[str, tuple[float, float, float]]
Batch: TypeAlias = dict[str, Tensor]
_REENTRANT = {"use_reentrant": True}


def model_of(family: str, config: str, settings: dict[str, Any]) -> nn.Module:
    """In double, and without random masks: then each trap has the plain loop's features."""
    torch.manual_seed(1)
    made = getattr(transformers, config)(**settings)
    made._experts_implementation = "eager"  # the grouped products take no double
    model: nn.Module = getattr(transformers, family)(made).double().train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        for name in ("dropout", "attention_dropout", "dropout_prob"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, 0.0)
    return model


def double(batch: Batch) -> Batch:
    return {k: v.double() if v.is_floating_point() else v for k, v in batch.items()}


def parts(batch: Batch, count: int) -> list[Batch]:
    chunks = {name: value.chunk(count) for name, value in batch.items()}
    return [{name: chunk[i] for name, chunk in chunks.items()} for i in range(count)]


class Loop:
    """Two updates; what a trap does differently is in the methods that it replaces."""

    passes = 1
    rate = 1e-3
    alone = False  # NumPy's numbers are the only ones to compare with
    records = True  # what enters the layers, for NumPy

    def baseline(self) -> "Loop":
        """The loop whose numbers it must give."""
        return Loop()

    def prepare(self, model: nn.Module) -> nn.Module:
        return model

    def batch(self, batch: Batch) -> Batch:
        return batch

    def aside(self, model: nn.Module, batch: Batch) -> None:
        pass

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        loss: Tensor = model(**batch).loss
        return loss

    def run(self, family: str, config: str, settings: dict[str, Any]) -> tuple[Found, Found]:
        """What was found, and what NumPy makes of what entered the layers (not of experts)."""
        model = self.prepare(model_of(family, config, settings))
        optimizer = torch.optim.SGD(model.parameters(), lr=self.rate)
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            scope = kappascope.attach(
                model, optimizer, run, every=2, window=2, budget=0, probes=["features"]
            )
            entered: dict[str, list[Tensor]] = {}
            seen = {"mask": None}
            for layer in scope.layers:
                kept = entered.setdefault(layer.name, [])
                if self.records:
                    layer.module.register_forward_pre_hook(self.keep(kept, layer.name, seen))
            for batch in inputs_of(family):
                batch = self.batch(double(batch))
                self.aside(model, batch)
                for part in parts(batch, self.passes):
                    seen["mask"] = part.get("attention_mask")
                    seen["decoder"] = part.get("decoder_attention_mask")
                    loss = self.loss(model, part) / self.passes
                    seen["mask"] = "stop"
                    loss.backward()
                optimizer.step()
                optimizer.zero_grad()
            scope.close()
            found = {
                series.layer: (series.rows[0].item(), series.value[0].item(), 1e-8)
                for series in kappascope.read(run).series("kappa/sigma")
            }
        joined = {name: torch.cat(inputs) for name, inputs in entered.items() if inputs}
        return found, {
            name: (x.shape[0], reference(x), 1e-8 if x.dtype == torch.double else tolerance(x))
            for name, x in joined.items()
        }

    def keep(self, kept: list[Tensor], name: str, seen: dict[str, Any]) -> Callable[..., None]:
        """Keeps what enters in a pass of training; recomputed passes come after "stop"."""

        def hook(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            if isinstance(seen["mask"], str) or "decoder" not in seen:
                return
            x = inputs[0].detach()
            mask = seen["decoder"] if name.startswith("decoder.") else seen["mask"]
            x = x.flatten(0, -2)
            kept.append(x if mask is None else x[mask.bool().flatten()])

        return hook


class Recomputed(Loop):
    options: dict[str, Any] = {"use_reentrant": False}

    def prepare(self, model: nn.Module) -> nn.Module:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=self.options)
        return model


class Reentrant(Recomputed):
    options = _REENTRANT


class Accumulated(Loop):
    passes = 2


class Padded(Loop):
    alone = True

    def batch(self, batch: Batch) -> Batch:
        mask = torch.ones_like(batch["input_ids"])
        mask[:, 9:] = 0
        batch["attention_mask"] = mask
        batch["labels"] = batch["labels"].masked_fill(mask == 0, -100)
        return batch


class Evaluated(Loop):
    def aside(self, model: nn.Module, batch: Batch) -> None:
        with torch.no_grad():
            model(**batch)
        model(**batch)  # with gradients, and no backward pass


class Still(Loop):
    rate = 0.0


class Frozen(Loop):
    def baseline(self) -> Loop:
        return Still()

    def prepare(self, model: nn.Module) -> nn.Module:
        """All but the last parameters, as a head on a frozen network."""
        for parameter in list(model.parameters())[:-2]:
            parameter.requires_grad_(False)
        return model


class Autocast(Loop):
    """Features of 16 bits, and sums in double."""

    alone = True

    def prepare(self, model: nn.Module) -> nn.Module:
        return model.float()

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        batch = {k: v.float() if v.is_floating_point() else v for k, v in batch.items()}
        with torch.autocast("cpu", torch.bfloat16):
            return super().loss(model, batch)


class Compiled(Loop):
    records = False  # a hook that keeps tensors is not for a compiler

    def prepare(self, model: nn.Module) -> nn.Module:
        compiled: nn.Module = torch.compile(model, backend="eager")
        return compiled


class Copied(Loop):
    def aside(self, model: nn.Module, batch: Batch) -> None:
        copy.deepcopy(model)(**batch).loss.backward()


TRAPS: dict[str, type[Loop]] = {
    "plain": Loop,
    "recomputed": Recomputed,
    "reentrant": Reentrant,
    "accumulated": Accumulated,
    "padded": Padded,
    "evaluated": Evaluated,
    "frozen": Frozen,
    "copied": Copied,
    "autocast": Autocast,
    "compiled": Compiled,
}


def left_out(family: str, kind: str, trap: str) -> str:
    """Why a cell is empty."""
    if trap == "padded" and family.startswith("ViT"):
        return "images have no padding"
    if trap == "padded" and kind == "experts":
        return "experts are given padding as any token; the scope says so"
    if trap == "autocast" and kind == "experts":
        return "nothing to compare with: what enters an expert is not recorded"
    return ""


def label(family: str, kind: str) -> str:
    name = family.split("For")[0].removesuffix("LMHeadModel")
    return f"{name} ({kind})" if name == "T5" else name


@unittest.skipIf(transformers is None, "transformers is not installed here")
class FamiliesInTraps(unittest.TestCase):
    def test_every_family_in_every_trap(self) -> None:
        every = int(os.environ.get("KAPPASCOPE_EVERY", "1"))
        for i, (family, config, settings, count, kind) in enumerate(FAMILIES):
            given = family, config, settings
            runs = functools.cache(lambda kind, given=given: kind().run(*given))
            for j, (trap, loop) in enumerate(TRAPS.items()):
                if (i + j) % every or left_out(family, kind, trap):
                    continue
                with self.subTest(family, kind=kind, trap=trap):
                    found, expected = runs(loop)
                    self.assertEqual(len(found), count)
                    if not loop.alone:
                        expected = {**runs(type(loop().baseline()))[0], **expected}
                    self.assertEqual(set(expected), set(found))
                    for name, (rows, value, delta) in expected.items():
                        self.assertEqual(found[name][0], rows, name)
                        if value < 1e6:  # double features say no more to eight digits
                            self.assertAlmostEqual(found[name][1] / value, 1, delta=delta, msg=name)


class Table(unittest.TestCase):
    def test_the_guide_has_the_table(self) -> None:
        guide = Path(__file__).parents[3] / "python/README.md"
        self.assertIn(table(), guide.read_text())


def table() -> str:
    lines = ["| | " + " | ".join(TRAPS) + " |", "|---" * (len(TRAPS) + 1) + "|"]
    for family, _, _, _, kind in FAMILIES:
        cells = ["-" if left_out(family, kind, trap) else "yes" for trap in TRAPS]
        lines.append(f"| {label(family, kind)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        print(table())
    else:
        unittest.main()
