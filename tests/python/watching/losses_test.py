# SPDX-License-Identifier: Apache-2.0
"""Whose loss is it: found where backward() is called, told, or said to be unknown."""

import contextlib
import io
import math
import threading
import unittest
import unittest.mock
from pathlib import Path
from typing import Any

import kappascope
import torch
from torch import Tensor, nn
from training import Attached, Model, batches, loss_of

FOUND = "found: backward() was called on it"


class WithLoss(Model):
    """As nanoGPT: (logits, loss)."""

    def forward(self, tokens: Tensor, targets: Tensor | None = None) -> Any:  # type: ignore
        logits = super().forward(tokens)
        return logits, None if targets is None else loss_of(logits, targets)


class Watched(Attached):
    def setUp(self) -> None:
        super().setUp()
        torch.manual_seed(2)
        self.said = io.StringIO()
        self.alarms: list[Any] = []

    def attach(self, model: nn.Module, optimizer: Any, **options: Any) -> Any:
        given: dict[str, Any] = {"every": 2, "window": 1, "budget": 0, "on_alarm": self.alarms.append}
        with contextlib.redirect_stderr(self.said):
            return kappascope.attach(model, optimizer, self.run_dir(), **{**given, **options})

    def check_loop(
        self, model: nn.Module, optimizer: Any, forward: Any = None, before_update: Any = None
    ) -> None:
        """A loop that tells nothing; the run has its losses."""
        losses = []
        with self.attach(model, optimizer) as scope:
            for tokens in batches(4):
                loss = loss_of((forward or model)(tokens), tokens)
                loss.backward()
                if before_update is not None:
                    before_update(scope)
                optimizer.step()
                losses.append(loss.item())
        self.check(losses)

    def check(self, expected: list[float], source: str = FOUND) -> None:
        run = kappascope.read(self.run_dir())
        self.assertEqual(run.facts["loss"], source)
        stored = run.series("loss/train")[0]
        self.assertEqual(stored.step.tolist(), list(range(len(expected))))
        for ours, theirs in zip(stored.value.tolist(), expected, strict=True):
            self.assertAlmostEqual(ours, theirs, delta=1e-6 * abs(theirs))
        self.assertEqual(self.alarms, [])
        self.assertEqual(self.said.getvalue(), "")


class Losses(Watched):
    def test_a_loop_that_tells_nothing_has_its_loss(self) -> None:
        model = Model()
        self.check_loop(model, torch.optim.Adam(model.parameters(), lr=1e-2))

    def test_a_tuple_with_the_loss(self) -> None:
        model = WithLoss()
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        losses = []
        with self.attach(model, optimizer):
            for tokens in batches(4):
                _, loss = model(tokens, tokens)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        self.check(losses)

    def test_passes_of_one_update_add_up(self) -> None:
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        losses = []
        with self.attach(model, optimizer):
            for tokens in batches(4):
                each = []
                for part in tokens.chunk(4):
                    loss = loss_of(model(part), part) / 4
                    torch.autograd.backward([loss])
                    each.append(loss.item())
                optimizer.step()
                losses.append(sum(each))
        self.check(losses)

    def test_what_another_model_descends_is_none(self) -> None:
        model, other = Model(), Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        losses = []
        with self.attach(model, optimizer) as scope:
            for tokens in batches(3):
                logits = model(tokens)
                (loss_of(other(tokens), tokens) * 1000).backward()
                with scope.pause():
                    (loss_of(model(tokens), tokens) * 1000).backward()
                model.zero_grad()
                loss = loss_of(logits, tokens)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        self.check(losses)

    def test_a_model_that_is_called_by_its_parts(self) -> None:
        model = Model()

        def by_parts(tokens: Tensor) -> Tensor:
            x = model.embedding(tokens)
            for layer in model.layers:
                x = x + layer(x)
            return model.head(x)

        self.check_loop(model, torch.optim.SGD(model.parameters(), lr=1e-2), by_parts)

    def test_checkpointing_calls_backward_within_backward(self) -> None:
        model = Model(recompute="reentrant")
        self.check_loop(model, torch.optim.SGD(model.parameters(), lr=1e-2))

    def test_what_is_told_comes_first(self) -> None:
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        with self.attach(model, optimizer) as scope:
            for tokens in batches(3):
                loss_of(model(tokens), tokens).backward()
                scope.loss(7.0)
                optimizer.step()
        self.check([7.0] * 3, "told by scope.loss()")

    def test_a_loss_that_is_not_known_is_none_and_no_alarm(self) -> None:
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        with self.attach(model, optimizer), contextlib.redirect_stderr(self.said):
            for tokens in batches(4):
                loss = loss_of(model(tokens), tokens)
                gradients = torch.autograd.grad(loss, list(model.parameters()))
                for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                    parameter.grad = gradient
                optimizer.step()
        run = kappascope.read(self.run_dir())
        self.assertEqual(run.series("loss/train"), [])
        self.assertEqual(run.facts["loss"], "unknown")
        self.assertEqual(self.alarms, [])
        self.assertEqual(self.said.getvalue().count("scope.loss(loss)"), 1)
        page = Path(self.folder.name) / "page.html"
        kappascope.report(self.run_dir(), page)
        self.assertIn("No loss was stored", page.read_text())
        self.assertNotIn("no spike", page.read_text())

    def test_without_a_callback_an_alarm_is_a_line_on_stderr(self) -> None:
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        with contextlib.redirect_stderr(self.said), kappascope.attach(model, optimizer, self.run_dir(), every=100):
            for tokens in batches(1):
                (math.inf * loss_of(model(tokens), tokens)).backward()
                optimizer.step()
        self.assertRegex(self.said.getvalue(), r"(?m)^kappascope: alarm non_finite at step 0: the loss is infinite")

    def test_a_loss_that_is_not_finite_is_an_alarm(self) -> None:
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with self.attach(model, optimizer):
            for i, tokens in enumerate(batches(3)):
                loss = loss_of(model(tokens), tokens)
                (loss * (math.nan if i == 1 else 1)).backward()
                optimizer.step()
        first = self.alarms[0]
        self.assertEqual((first.name, first.step), ("non_finite", 1))
        self.assertIn("the loss is NaN", first.message)

    def test_two_threads_that_train(self) -> None:
        """Each has its own loss, or says that it does not know it."""

        def train(scale: float, run: str) -> None:
            torch.manual_seed(3)
            model = Model()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
            options: dict[str, Any] = {"every": 100, "budget": 0}
            with kappascope.attach(model, optimizer, self.run_dir(run), **options):
                for tokens in batches(1) * 40:
                    (loss_of(model.eval()(tokens), tokens) * scale).backward()
                    optimizer.step()

        with contextlib.redirect_stderr(self.said):
            threads = [threading.Thread(target=train, args=(s, f"run{s}")) for s in (1.0, 100.0)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        for scale in (1.0, 100.0):
            for series in kappascope.read(self.run_dir(f"run{scale}")).series("loss/train"):
                self.assertLess(series.value.max().item(), 4 * scale)
                self.assertGreater(series.value.min().item(), 2 * scale)

    def test_nothing_is_left_of_the_watch(self) -> None:
        before = torch.autograd.backward, torch.amp.GradScaler.step
        model = Model()
        scope = self.attach(model, torch.optim.SGD(model.parameters(), lr=1.0))
        self.assertIsNot(torch.autograd.backward, before[0])
        self.assertIsNot(torch.amp.GradScaler.step, before[1])
        scope.close()
        self.assertEqual((torch.autograd.backward, torch.amp.GradScaler.step), before)


class Slow:
    """A point in the work of a device that is two steps behind."""

    made = waited = 0

    def __init__(self) -> None:
        Slow.made += 1
        self._number = Slow.made

    def record(self) -> None:
        pass

    def query(self) -> bool:
        return Slow.made - self._number >= 2

    def synchronize(self) -> None:
        Slow.waited += not self.query()


class Later(Watched):
    """Numbers of a device, which come after further steps."""

    def setUp(self) -> None:
        super().setUp()
        Slow.made = Slow.waited = 0
        self.enterContext(unittest.mock.patch("kappascope._watch.later._mark", lambda _: Slow()))

    def train(self, steps: int, nan_at: int = -1, **options: Any) -> tuple[list[float], Any]:  # type: ignore
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        scope = self.attach(model, optimizer, **options)
        losses = []
        for step, tokens in enumerate(batches(steps)):
            loss = loss_of(model(tokens), tokens)
            loss.backward()
            scope.gradient_norm(torch.tensor(math.nan if step == nan_at else float(step)))
            optimizer.step()
            losses.append(loss.item())
        return losses, scope

    def test_each_step_has_its_own_and_windows_and_the_end_wait(self) -> None:
        losses, scope = self.train(6, every=100)
        self.assertEqual(Slow.waited, 1)  # in the window of step 0
        scope.close()
        self.assertEqual(Slow.waited, 3)
        self.check(losses)
        norms = kappascope.read(self.run_dir()).series("gradient_norm")[0]
        self.assertEqual(norms.value.tolist(), [0, 1, 2, 3, 4, 5])

    def test_a_window_waits_for_its_step(self) -> None:
        losses, scope = self.train(4, every=2)
        self.assertEqual(kappascope.read(self.run_dir()).series("loss/train")[0].step.tolist(), [0, 1, 2])
        scope.close()
        self.check(losses)

    def test_an_alarm_names_the_step_that_it_is_of(self) -> None:
        _, scope = self.train(6, nan_at=1, every=100)
        scope.close()
        self.assertEqual([(a.name, a.step) for a in self.alarms], [("non_finite", 1)])

    def test_flush_waits(self) -> None:
        losses, scope = self.train(3, every=100)
        scope.flush()
        self.check(losses)
        scope.close()

    def test_of_a_device_that_failed_nothing_is_invented(self) -> None:
        def fail(_: Slow) -> None:
            raise RuntimeError("device-side assert triggered")

        losses, scope = self.train(6, every=100)
        with unittest.mock.patch.object(Slow, "synchronize", fail):
            scope.close()
        run = kappascope.read(self.run_dir())
        self.assertEqual(run.series("loss/train")[0].step.tolist(), list(range(len(losses) - 2)))
        self.assertEqual(run.series("learning_rate")[0].step.tolist(), list(range(6)))


if __name__ == "__main__":
    unittest.main()
