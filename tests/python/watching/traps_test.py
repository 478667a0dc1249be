# SPDX-License-Identifier: Apache-2.0
"""What training loops do that a hook could mistake for a step."""

import copy
import pickle
import subprocess
import sys
import unittest
from types import SimpleNamespace
from typing import Any

import kappascope
import torch
from torch import Tensor, nn
from training import Attached, Model, batches, loss_of, step, undropped


class Traps(Attached):
    def test_recomputed_passes_count_once(self) -> None:
        self.train("plain")
        for kind in ("reentrant", "other"):
            self.train(kind, model=self.model(kind))
            self.assertEqual(self.rows(kind), self.rows("plain"))
            for series in ("kappa/sigma", "gradvar/measured"):
                for layer in ("layers.0.down_proj", "layers.1.down_proj"):
                    self.assertAlmostEqual(
                        self.value(kind, series, layer) / self.value("plain", series, layer),
                        1,
                        delta=1e-4,
                    )

    def model(self, recompute: str) -> nn.Module:
        torch.manual_seed(5)
        model = Model(recompute)
        torch.manual_seed(5)
        return model

    def attach(
        self, model: nn.Module, run: str = "run", **options: Any
    ) -> tuple[Any, torch.optim.Optimizer]:
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        given: dict[str, Any] = {"every": 1, "window": 1, "budget": 0}
        return (
            kappascope.attach(model, optimizer, self.run_dir(run), **{**given, **options}),
            optimizer,
        )

    def test_passes_that_are_not_of_training_do_not_count(self) -> None:
        model = Model()
        scope, optimizer = self.attach(model)
        for tokens in batches(2):
            with torch.no_grad():
                model(tokens)
            _ = loss_of(model(tokens), tokens)  # with gradients, and no backward pass
            with scope.pause():
                loss_of(model(tokens), tokens).backward()
            step(model, optimizer, scope, tokens)
        scope.close()
        self.assertEqual(self.rows("run"), [40.0, 40.0])

    def test_the_loss_of_a_pass_without_a_backward_pass_is_not_the_step_s(self) -> None:
        class WithLoss(Model):
            def forward(self, tokens: Tensor, labels: Tensor) -> Any:  # type: ignore[override]
                return SimpleNamespace(loss=loss_of(super().forward(tokens), labels))

        model = WithLoss()
        scope, optimizer = self.attach(model)
        tokens = batches(1)[0]
        labels = torch.full_like(tokens, 3)
        labels[:, 2:] = -100
        model(tokens, labels=torch.zeros_like(tokens))
        out = model(tokens, labels=labels)
        out.loss.backward()
        optimizer.step()
        scope.close()
        losses = kappascope.read(self.run_dir()).series("loss/train")[0].value
        self.assertEqual(losses.tolist(), [out.loss.item()])

    def test_padding_does_not_count(self) -> None:
        model = Model()
        scope, optimizer = self.attach(model)
        tokens = batches(1)[0]
        mask = torch.ones_like(tokens)
        mask[:, 3:] = 0
        loss = loss_of(model(tokens, attention_mask=mask)[:, :3], tokens[:, :3])
        loss.backward()
        scope.loss(loss)
        optimizer.step()
        scope.close()
        self.assertEqual(self.rows("run"), [24.0])

    def test_gradients_of_a_scaled_loss_are_scaled_back(self) -> None:
        found = {}
        for name, scale in (("plain", 1.0), ("scaled", 1024.0)):
            torch.manual_seed(5)
            model = Model()
            optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
            scaler = torch.amp.GradScaler("cpu", init_scale=scale, enabled=scale != 1.0)
            scope = kappascope.attach(
                model, optimizer, self.run_dir(name), every=1, window=1, budget=0, scaler=scaler
            )
            torch.manual_seed(6)
            for i, tokens in enumerate(batches(3)):
                loss = loss_of(model(tokens), tokens)
                scaler.scale(loss).backward()
                if i == 1 and scale != 1.0:
                    model.head.weight.grad[0, 0] = float("inf")  # the scaler skips this update
                scope.loss(loss)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
            scope.close()
            found[name] = self.value(name, "gradvar/measured", "layers.1.down_proj", 0)
            self.assertEqual(self.rows(name), [40.0] * (3 if scale == 1.0 else 2))
        self.assertAlmostEqual(found["scaled"] / found["plain"], 1, delta=1e-4)

    def test_passes_within_a_closure_are_the_step(self) -> None:
        found = {}
        for name in ("plain", "closure", "named"):
            torch.manual_seed(5)
            model = Model()
            scope, optimizer = self.attach(model, run=name)
            torch.manual_seed(6)
            for tokens in batches(3):

                def closure(model: Any = model, tokens: Any = tokens, optimizer: Any = optimizer) -> Any:
                    optimizer.zero_grad()
                    loss = loss_of(model(tokens), tokens)
                    loss.backward()
                    return loss

                if name == "plain":
                    scope.loss(closure())
                    optimizer.step()
                elif name == "closure":
                    optimizer.step(closure)
                else:
                    optimizer.step(closure=closure)
            scope.close()
            found[name] = [
                self.value(name, "kappa/sigma", "layers.1.down_proj"),
                self.value(name, "gradvar/measured", "layers.1.down_proj"),
                self.value(name, "loss/train", ""),
            ]
            self.assertEqual(self.rows(name), [40.0] * 3)
        self.assertEqual(found["closure"], found["plain"])
        self.assertEqual(found["named"], found["plain"])

    def test_a_line_search_is_one_step(self) -> None:
        model = undropped(Model())
        optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
        scope = kappascope.attach(model, optimizer, self.run_dir(), every=1, window=1, budget=0)
        calls = 0
        for tokens in batches(2):

            def closure(tokens: Any = tokens) -> Any:
                nonlocal calls
                calls += 1
                optimizer.zero_grad()
                loss = loss_of(model(tokens), tokens)
                loss.backward()
                return loss

            optimizer.step(closure)
        scope.close()
        self.assertGreater(calls, 2)
        self.assertEqual(self.rows("run"), [40.0, 40.0])

    def test_a_watched_model_can_be_copied_and_pickled(self) -> None:
        model = Model()
        scope, optimizer = self.attach(model)
        other = copy.deepcopy(model)
        loaded = pickle.loads(pickle.dumps(model))
        tokens = batches(1)[0]
        for copied in (other, loaded):
            loss_of(copied(tokens), tokens).backward()
        step(model, optimizer, scope, tokens)
        scope.close()
        self.assertEqual(self.rows("run"), [40.0])

    def test_a_pickled_model_is_loaded_where_the_package_is_not_installed(self) -> None:
        model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        file = self.run_dir("model.pt")
        scope, _ = self.attach(model, layers="2")
        torch.save(model, file)
        scope.close()
        program = (
            "import sys; sys.modules['kappascope'] = None; import torch; "
            f"print(torch.load({file!r}, weights_only=False)(torch.zeros(1, 3)).shape[1])"
        )
        out = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        self.assertEqual(out.stdout.strip(), "2")

    def test_frozen_layers_are_seen_without_their_gradients(self) -> None:
        model = Model()
        for parameter in [*model.embedding.parameters(), *model.layers[0].parameters()]:
            parameter.requires_grad_(False)
        scope, optimizer = self.attach(model)
        step(model, optimizer, scope, batches(1)[0])
        scope.close()
        self.assertEqual(self.rows("run"), [40.0])
        run = kappascope.read(self.run_dir())
        self.assertEqual(run.series("gradvar/measured", "layers.0.down_proj"), [])
        self.assertEqual(len(run.series("gradvar/measured", "layers.1.down_proj")), 1)

    def test_the_gradient_of_frozen_weights_is_not_measured_on_its_way_to_others(self) -> None:
        model = Model()  # as under LoRA: what comes before the frozen layer is trained
        model.layers[1].down_proj.requires_grad_(False)
        scope, optimizer = self.attach(model)
        step(model, optimizer, scope, batches(1)[0])
        scope.close()
        run = kappascope.read(self.run_dir())
        self.assertEqual(len(run.series("gradvar/measured", "layers.0.down_proj")), 1)
        self.assertEqual(run.series("gradvar/measured", "layers.1.down_proj"), [])
        self.assertEqual(len(run.series("kappa/sigma", "layers.1.down_proj")), 1)


if __name__ == "__main__":
    unittest.main()
