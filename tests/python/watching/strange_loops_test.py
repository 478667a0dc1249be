# SPDX-License-Identifier: Apache-2.0
"""Loops that do more than train: the run holds what the updates descended, and training goes on."""

import io
import math
import threading
import unittest
from contextlib import redirect_stderr
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import kappascope
import torch
from kappascope._watch.backward import Roots
from torch import Tensor, nn
from training import Attached, Model, batches, loss_of


class Strange(Attached):
    def begin(self, name: str = "run", **options: Any) -> None:
        torch.manual_seed(5)
        self.model = Model().eval()  # no dropout
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-2)
        self.scope = kappascope.attach(
            self.model, self.optimizer, self.run_dir(name), **{"every": 100, "budget": 0, **options}
        )

    def loss(self, tokens: Tensor) -> Tensor:
        return loss_of(self.model(tokens), tokens)

    def update(self) -> None:
        self.optimizer.step()
        self.optimizer.zero_grad()

    def values(self, name: str) -> list[float]:
        self.scope.close()
        return [x for one in kappascope.read(self.run_dir()).series(name) for x in one.value.tolist()]

    def test_a_pass_whose_gradients_were_thrown_away_is_of_no_update(self) -> None:
        for to_none in (True, False):
            self.begin(f"to none {to_none}")
            told = []
            for tokens in batches(3):
                (self.loss(tokens) * 2).backward()  # the batch that a guard leaves out
                self.optimizer.zero_grad(set_to_none=to_none)
                half, other = self.loss(tokens[:4]) / 2, self.loss(tokens[4:]) / 2
                half.backward()
                nn.utils.clip_grad_value_(self.model.parameters(), 1.0)  # throws nothing away
                other.backward()
                told.append((half + other).item())
                self.optimizer.step()
                self.optimizer.zero_grad(set_to_none=to_none)
            self.scope.close()
            found = kappascope.read(self.scope.run).series("loss/train")[0].value.tolist()
            for one, expected in zip(found, told, strict=True):
                self.assertAlmostEqual(one, expected, 5)

    def test_gradients_that_are_shards_are_not_asked_for_their_values(self) -> None:
        class Shard(Tensor):
            device_mesh = None

            def any(self) -> Any:  # type: ignore[override]
                raise AssertionError("this waits for the other processes")

        model = nn.Linear(2, 2)
        roots = Roots(model)
        for p in model.parameters():
            p.grad = torch.zeros_like(p).as_subclass(Shard)
        roots.end(torch.zeros(()), True)
        for p in model.parameters():
            p.grad.zero_()  # type: ignore[union-attr]
        roots.unclear = True
        roots.look()
        self.assertTrue(roots.unclear)  # nothing was discarded

    def test_a_window_has_no_rows_of_a_pass_whose_gradients_were_thrown_away(self) -> None:
        rows = {}
        for guarded in (False, True):
            self.begin(f"guarded {guarded}", every=1, window=1, budget=0, rows=8)
            for tokens in batches(3):
                if guarded:
                    (self.loss(tokens) * math.nan).backward()
                    self.optimizer.zero_grad()
                self.loss(tokens).backward()
                self.update()
            self.scope.close()
            run = kappascope.read(self.scope.run)
            rows[guarded] = [
                (one.name, one.layer, repr((one.value.tolist(), one.rows.tolist())))
                for name in ("kappa/sigma", "gradvar/measured", "learning/sigma")
                for one in run.series(name)
            ]
        self.assertEqual(rows[True], rows[False])
        self.assertGreater(len(rows[True]), 1)

    def test_a_loss_is_kept_as_it_was(self) -> None:
        self.begin(every=2, window=1)
        told, total = [], None
        for tokens in batches(3):
            loss = self.loss(tokens)
            loss.backward()
            told.append(loss.item())
            total = loss.detach() if total is None else total.add_(loss.detach())
            loss.detach().mul_(100)
            self.update()
        self.assertEqual(self.values("loss/train"), told)

    def test_an_output_of_a_dataclass_leads_to_its_loss(self) -> None:
        @dataclass
        class Out:
            logits: Tensor

        class Wrapped(Model):
            def forward(self, tokens: Tensor) -> Any:  # type: ignore[override]
                return Out(super().forward(tokens))

        model = Wrapped()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        told = []
        with kappascope.attach(model, optimizer, self.run_dir(), every=100):
            for tokens in batches(3):
                loss = loss_of(model(tokens).logits, tokens)
                loss.backward()
                told.append(loss.item())
                optimizer.step()
                optimizer.zero_grad()
        (found,) = kappascope.read(self.run_dir()).series("loss/train")
        self.assertEqual(found.value.tolist(), told)

    def test_the_gradients_are_looked_at_by_the_thread_that_trains_alone(self) -> None:
        roots = Roots(Model())
        looked = []
        with patch.object(Roots, "_gradients", lambda _: looked.append(threading.get_ident()) or [None]):

            def elsewhere() -> None:
                roots.begin()
                roots.end(None, True)

            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
            self.assertEqual(looked, [])
            elsewhere()
        self.assertEqual(set(looked), {threading.get_ident()})

    def test_somebody_may_wrap_backward_while_a_run_is_open(self) -> None:
        before = torch.autograd.backward
        self.begin()
        inner = torch.autograd.backward
        torch.autograd.backward = lambda *a, **k: inner(*a, **k)
        try:
            with self.scope.pause():
                pass
            for tokens in batches(2):
                self.loss(tokens).backward()
                self.update()
            self.assertEqual(len(self.values("loss/train")), 2)
        finally:
            torch.autograd.backward = before

    def test_two_losses_of_one_graph_have_one_gradient(self) -> None:
        found = []
        for parts in (1, 2):
            self.begin(probes=["gradient_variance"], every=1, window=1)
            for tokens in batches(1):
                loss = self.loss(tokens)
                for part in range(parts):
                    (loss / parts).backward(retain_graph=part + 1 < parts)
                self.update()
            found.append(self.values("gradvar/measured"))
            self.folder.cleanup()
        self.assertTrue(found[0])
        for one, two in zip(*found, strict=True):
            self.assertAlmostEqual(two / one, 1, 4)

    def test_what_this_package_passes_is_not_of_training(self) -> None:
        rows = []
        for asks in (False, True):
            self.begin(probes=["features"], every=1, window=1)
            for tokens in batches(1):
                loss = self.loss(tokens)
                loss.backward(retain_graph=True)
                if asks:
                    kappascope.spectrum(lambda: self.loss(tokens), self.model, top=1)
                    with kappascope.hessian(loss, self.model) as matrix:
                        matrix.diagonal(3)
                self.update()
            self.scope.close()
            found = kappascope.read(self.run_dir()).series("kappa/sigma")
            rows.append([one.rows[-1].item() for one in found])
            self.folder.cleanup()
        self.assertTrue(rows[0])
        self.assertEqual(*rows)

    def test_transforms_of_torch_pass_through_a_window(self) -> None:
        self.begin(every=1, window=1)
        for tokens in batches(2):
            parameters = dict(self.model.named_parameters())

            def one(named: dict[str, Tensor], row: Tensor) -> Tensor:
                return loss_of(torch.func.functional_call(self.model, named, (row[None],)), row[None])

            torch.func.vmap(torch.func.grad(one), (None, 0))(parameters, tokens)
            torch.jit.trace(self.model, (tokens,), check_trace=False)
            self.loss(tokens).backward()
            self.update()
        self.assertEqual(len(self.values("loss/train")), 2)

    def test_what_is_no_optimizer_is_refused_and_one_that_is_not_stepped_said(self) -> None:
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        for wrong in ([optimizer], torch.optim.SGD, "sgd", model.parameters()):
            with self.assertRaisesRegex(TypeError, "has a step"):
                kappascope.attach(model, wrong, self.run_dir())
        said = io.StringIO()
        with redirect_stderr(said):
            kappascope.attach(model, optimizer, self.run_dir()).close()
        self.assertIn("no step of the optimizer was seen", said.getvalue())

    def test_what_was_read_is_a_run_and_what_was_closed_says_so(self) -> None:
        self.begin(every=1, window=1)
        self.loss(batches(1)[0]).backward()
        self.update()
        self.scope.close()
        run = kappascope.read(self.run_dir())
        self.assertEqual(kappascope.report(run), kappascope.report(self.run_dir()))
        self.assertEqual(str(kappascope.advise(run)), str(kappascope.advise(self.run_dir())))
        with self.assertRaisesRegex(ValueError, "at least one run"):
            kappascope.report([])
        with self.assertRaisesRegex(TypeError, "torch.nn.Module"):
            kappascope.attach(None, self.optimizer, self.run_dir("other"))  # type: ignore[arg-type]
        net = nn.Linear(2, 1)
        matrix = kappascope.hessian(lambda: net(torch.ones(3, 2)).pow(2).mean(), net)
        with self.assertRaisesRegex(ValueError, "real numbers"):
            matrix @ torch.ones(3, dtype=torch.complex64)
        matrix.close()
        with self.assertRaisesRegex(kappascope.Error, "hessian was closed"):
            matrix @ torch.ones(3)

    def test_the_learning_rate_is_that_of_the_watched_layers(self) -> None:
        model = Model()
        down = [layer.down_proj.weight for layer in model.layers]  # type: ignore[union-attr]
        others = [p for p in model.parameters() if all(p is not one for one in down)]
        groups = [{"params": others, "lr": 0.0}, {"params": down, "lr": 0.1}]
        optimizer = torch.optim.SGD(groups)
        with kappascope.attach(model, optimizer, self.run_dir(), every=100):
            for tokens in batches(2):
                loss_of(model(tokens), tokens).backward()
                optimizer.step()
        (rate,) = kappascope.read(self.run_dir()).series("learning_rate")
        self.assertEqual(rate.value.tolist(), [0.1, 0.1])

    def test_a_critical_step_needs_one_number(self) -> None:
        net = nn.Linear(3, 2)
        before = [p.detach() + 0.1 for p in net.parameters()]
        with self.assertRaisesRegex(kappascope.Error, "one number"):
            kappascope.critical_step(lambda: net(torch.ones(4, 3)), net, before)


if __name__ == "__main__":
    unittest.main()
