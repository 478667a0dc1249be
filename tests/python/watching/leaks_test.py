# SPDX-License-Identifier: Apache-2.0
"""Nothing of a watched training stays behind, and a step keeps no more for having more passes."""

import contextlib
import copy
import gc
import io
import os
import unittest
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import kappascope
import torch
from torch import Tensor, nn
from training import Attached, Mlp, Model, batches, loss_of, step


class Trainer:
    """A loop that keeps its model, and a curvature that keeps the loop."""

    def __init__(self, run: str, **options: Any) -> None:
        self.model = Model()
        self.optimizer = self.make(self.model)
        self.told: list[Any] = []
        self.loss = torch.zeros(())
        self.scope = kappascope.attach(
            self.model, self.optimizer, run, every=1, window=1, budget=0, **self.given(), **options
        )

    def make(self, model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.Adam(model.parameters(), lr=1e-3)

    def given(self) -> dict[str, Any]:
        return {}

    def train(self) -> None:
        for tokens in batches(2):
            step(self.model, self.optimizer, self.scope, tokens)
            self.optimizer.zero_grad()

    def curvature(self) -> Tensor:
        tokens = batches(1)[0]
        return loss_of(self.model(tokens), tokens)


class Curved(Trainer):
    def given(self) -> dict[str, Any]:
        return {"curvature": self.curvature}


class Told(Trainer):
    def given(self) -> dict[str, Any]:
        tell = self.told.append
        return {"on_snapshot": lambda x: tell((self.model, x)), "on_alarm": tell}


class LineSearch(Trainer):
    def make(self, model: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.LBFGS(model.parameters(), max_iter=2)

    def train(self) -> None:
        for tokens in batches(2):

            def closure(tokens: Tensor = tokens) -> Tensor:
                self.optimizer.zero_grad()
                loss = loss_of(self.model(tokens), tokens)
                loss.backward()
                return loss

            self.optimizer.step(closure)


class Scaled(Trainer):
    def given(self) -> dict[str, Any]:
        self.scaler = torch.amp.GradScaler("cpu")
        return {"scaler": self.scaler, "curvature": self.curvature}


class LossKept(Curved):
    def train(self) -> None:
        super().train()
        tokens = batches(1)[0]
        self.loss = loss_of(self.model(tokens), tokens)
        self.loss.backward()


class Broken(Curved):
    def train(self) -> None:
        try:
            tokens = batches(1)[0]
            loss_of(self.model(tokens), tokens).backward()
            self.model(torch.full_like(tokens, 99))  # no such token
        except IndexError:
            pass


class Functional(Trainer):
    """A down-projection whose forward is not called."""

    def train(self) -> None:
        for layer in self.model.layers:
            layer.forward = lambda x, layer=layer: nn.functional.linear(
                layer.gate_proj(x) * layer.up_proj(x), layer.down_proj.weight
            )
        super().train()


LOOPS = (Trainer, Curved, Told, LineSearch, Scaled, LossKept, Broken, Functional)


def of(trainer: Any) -> list["weakref.ref[Any]"]:
    model = trainer.model
    kept = [*model.modules(), *model.parameters(), trainer.optimizer]
    return [weakref.ref(one) for one in kept]


class Leaks(Attached):
    def check_gone(self, references: list["weakref.ref[Any]"]) -> None:
        gc.collect()
        left = [type(one()).__name__ for one in references if one() is not None]
        self.assertEqual(left, [])

    def test_a_closed_scope_that_is_kept_keeps_no_model(self) -> None:
        for loop in LOOPS:
            with self.subTest(loop.__name__):
                trainer = loop(self.run_dir(loop.__name__))
                trainer.train()
                scope, references = trainer.scope, of(trainer)
                scope.close()
                described, latest = scope.describe(), scope.latest()
                del trainer
                self.check_gone(references)
                self.assertEqual(repr((scope.describe(), scope.latest())), repr((described, latest)))
                self.assertEqual(scope.run, self.run_dir(loop.__name__))

    def test_a_scope_that_is_dropped_keeps_no_model_and_its_run_is_closed(self) -> None:
        for loop in LOOPS:
            with self.subTest(loop.__name__):
                trainer = loop(self.run_dir(loop.__name__))
                trainer.train()
                references = of(trainer)
                del trainer
                self.check_gone(references)
                state = kappascope.read(self.run_dir(loop.__name__)).facts["state"]
                self.assertEqual(state, "interrupted")

    def test_a_scope_that_nobody_keeps_lives_as_long_as_its_model(self) -> None:
        trainer = Trainer(self.run_dir())
        del trainer.scope
        gc.collect()
        for tokens in batches(3):
            loss_of(trainer.model(tokens), tokens).backward()
            trainer.optimizer.step()
            trainer.optimizer.zero_grad()
            gc.collect()
        copied = copy.deepcopy(trainer.model)
        references = of(trainer)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            del trainer
            self.check_gone(references)
        self.assertIn(f"{self.run_dir()} is deleted and its run was not closed", said.getvalue())
        run = kappascope.read(self.run_dir())
        self.assertEqual(run.facts["state"], "interrupted")
        self.assertEqual(run.series("loss/train")[0].step.tolist(), [0, 1, 2])
        copied(batches(1)[0])

    def test_attaching_again_and_again_leaves_the_last_one(self) -> None:
        references = []
        for i in range(5):  # as a cell of a notebook that is run again
            trainer = Curved(self.run_dir(), existing="new-name")
            trainer.train()
            references.append(of(trainer))
        gc.collect()
        alive = [any(one() is not None for one in some) for some in references]
        self.assertEqual(alive, [False] * 4 + [True])
        trainer.scope.close()

    def test_what_attach_refuses_it_does_not_keep(self) -> None:
        Trainer(self.run_dir()).scope.close()
        trainer = SimpleNamespace(model=Model())
        trainer.optimizer = torch.optim.SGD(trainer.model.parameters(), lr=0.1)
        for options in ({}, {"every": 0}, {"probes": ["none"]}, {"existing": "none"}):
            with self.assertRaises((kappascope.Error, ValueError)):
                kappascope.attach(
                    trainer.model,
                    trainer.optimizer,
                    self.run_dir(),
                    curvature=lambda: trainer.model.head.weight.sum(),
                    **options,
                )
        references = of(trainer)
        trainer.model = trainer.optimizer = None
        self.check_gone(references)

    def test_a_scaler_is_as_it_was(self) -> None:
        scaler = torch.amp.GradScaler("cpu")
        step_before = scaler.step
        for i in range(2):
            model = Model()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            kappascope.attach(model, optimizer, self.run_dir(f"{i}"), scaler=scaler).close()
        self.assertEqual(scaler.step, step_before)

    def test_what_comes_after_the_end_is_said(self) -> None:
        trainer = Trainer(self.run_dir())
        trainer.scope.close()
        with self.assertRaisesRegex(kappascope.Error, "is closed"):
            trainer.scope.record("late", 1.0)

    def test_a_callback_of_hugging_face_keeps_no_model(self) -> None:
        from trainer_test import InTrainer as Other

        made = Other()
        made.setUp()
        self.addCleanup(made.doCleanups)
        _, trainer, entered = made.train()
        callbacks = [c for c in trainer.callback_handler.callbacks if hasattr(c, "scope")]
        references = of(trainer)
        del trainer, entered
        self.check_gone(references)
        self.assertEqual(len(callbacks), 1)


ROWS, HIDDEN, PASSES = 2048, 1024, 30
OF_A_PASS = 8  # tensors of that size that a pass itself makes; the allocator may keep their memory


class Wide(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.mlp = Mlp(8, hidden)

    def forward(self, x: Tensor) -> Tensor:
        return self.mlp(x)


class Passes(Attached):
    def grown(
        self, hidden: int = HIDDEN, in_pass: int = ROWS, passes: int = PASSES, **options: Any
    ) -> tuple[float, list[float]]:
        """Features held more after all passes than after a third of them, in passes; rows of κ."""
        model = Wide(hidden)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        name = f"run{len(os.listdir(self.folder.name))}"
        given = {"every": 1, "window": 1, "budget": 0, **options}
        scope = kappascope.attach(model, optimizer, self.run_dir(name), **given)
        held = []
        for i in range(passes):
            loss = model(torch.randn(in_pass, 8)).square().mean()
            loss.backward()
            del loss
            if i in (passes // 3 - 1, passes - 1):
                held.append(resident())
        scope.loss(0.0)
        optimizer.step()
        scope.close()
        (series,) = kappascope.read(self.run_dir(name)).series("kappa/sigma")
        return (held[1] - held[0]) / (in_pass * hidden * 4), series.rows.tolist()

    def test_what_is_held_does_not_grow_with_the_passes(self) -> None:
        grown, rows = self.grown()
        self.assertLess(grown, OF_A_PASS)
        self.assertEqual(rows, [4096.0])

    def test_rows_bounds_it_in_whole_passes(self) -> None:
        for rows, kept in ((1, 1), (16, 1), (17, 2), (48, 3)):
            self.assertEqual(self.grown(8, 16, 4, rows=rows)[1], [float(kept * 16)])
        grown, rows = self.grown(rows=0)
        self.assertGreater(grown, PASSES * 2 / 3 - OF_A_PASS)
        self.assertEqual(rows, [float(PASSES * ROWS)])
        with self.assertRaisesRegex(kappascope.Error, "0 rows .all. or more, got -1"):
            self.grown(rows=-1)


def resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    unittest.main()
