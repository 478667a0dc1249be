# SPDX-License-Identifier: Apache-2.0
"""A watched training loop: the numbers are those of what passed, and training does not notice."""

import json
import math
import platform
import sqlite3
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path
from typing import Any

import kappascope
import numpy as np
import torch
from kappascope._environment import command
from torch import Tensor, nn
from training import Attached, Model, batches, loss_of, step, undropped


class Commands(unittest.TestCase):
    def test_secrets_are_not_stored(self) -> None:
        for words, told in (
            (["train.py", "--token", "abc"], "train.py --token ***"),
            (["train.py", "--hf_token=abc", "--lr", "1e-3"], "train.py --hf_token=*** --lr 1e-3"),
            (["train.py", "wandb.api_key=abc"], "train.py wandb.api_key=***"),
            (["train.py", "--password", "--verbose"], "train.py --password --verbose"),
            (["train.py", "--auth-header", "x", "y"], "train.py --auth-header *** y"),
            (["train.py", "hf_0123456789abcdef"], "train.py ***"),
            (["train.py", "--data", "s3://me:word@host/x"], "train.py --data s3://***@host/x"),
        ):
            self.assertEqual(command(words), told)
        plain = ["train.py", "--tokenizer", "gpt2", "--max_tokens", "512", "--author=me", "run/a@b"]
        self.assertEqual(command(plain), " ".join(plain))

    def test_a_run_has_the_command_without_them(self) -> None:
        with unittest.mock.patch.object(sys, "argv", ["train.py", "--api-key", "abc"]):
            with tempfile.TemporaryDirectory() as folder:
                model = Model()
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                kappascope.attach(model, optimizer, folder + "/run").close()
                facts = kappascope.read(folder + "/run").facts
        self.assertEqual(facts["command"], "train.py --api-key ***")


class Numbers(Attached):
    def test_kappa_is_that_of_what_entered_the_layer(self) -> None:
        _, entered = self.train("run")
        found = kappascope.read(self.run_dir())
        self.assertEqual(found.facts["state"], "finished")
        for layer in ("layers.0.down_proj", "layers.1.down_proj"):
            series = found.series("kappa/sigma", layer)[0]
            self.assertEqual(series.step.tolist(), [1, 3, 5])
            for step, value, rows in zip(series.step, series.value, series.rows, strict=True):
                x = torch.cat(entered[layer][int(step) - 1 : int(step) + 1]).flatten(0, 1)
                self.assertEqual(int(rows), x.shape[0])
                ends = np.linalg.eigvalsh(np.cov(x.double().numpy(), rowvar=False, ddof=0))
                self.assertAlmostEqual(value.item() / (ends[-1] / ends[0]), 1, delta=1e-5)
        packages = found.facts["packages"].split(", ")
        for name, version in (
            ("python", platform.python_version()),
            ("numpy", np.__version__),
            ("torch", torch.__version__),
        ):
            self.assertIn(f"{name} {version}", packages)
        losses = found.series("loss/train")[0]
        self.assertEqual(losses.step.tolist(), list(range(6)))
        self.assertTrue(all(math.isfinite(x) for x in losses.value))

    def test_training_gives_the_same_bits_with_and_without(self) -> None:
        for parts in (1, 2):
            plain, _ = self.train("plain", watched=False, parts=parts)
            torch.manual_seed(5)
            model = Model()
            name = f"watched{parts}"
            torch.manual_seed(5)
            watched, _ = self.train(
                name, parts=parts, model=model, curvature=lambda model=model: self.fixed_loss(model)
            )
            self.assertGreater(self.value(name, "hessian/lambda_1", ""), 0)
            for parameter_name, parameter in plain.named_parameters():
                same = watched.get_parameter(parameter_name)
                self.assertTrue(torch.equal(parameter, same), parameter_name)

    def fixed_loss(self, model: nn.Module) -> Tensor:
        self.assertFalse(model.training)
        tokens = batches(1)[0]
        return loss_of(model(tokens), tokens)

    def test_accumulated_passes_are_one_step(self) -> None:
        torch.manual_seed(1)
        for name, parts in (("whole", 1), ("parts", 4)):
            model = undropped(Model())
            model.load_state_dict(self.same_weights(model))
            self.train(name, parts=parts, model=model)
        self.assertEqual(self.rows("whole"), self.rows("parts"))
        for series in ("kappa/second_moment", "gradvar/measured", "loss/train"):
            layer = "" if series == "loss/train" else "layers.1.down_proj"
            whole, parts_ = (self.value(name, series, layer, 0) for name in ("whole", "parts"))
            self.assertAlmostEqual(whole / parts_, 1, delta=1e-4)

    def same_weights(self, model: nn.Module) -> dict[str, Tensor]:
        torch.manual_seed(9)
        return {name: 0.3 * torch.randn_like(x) for name, x in model.state_dict().items()}

    def test_the_hessian_is_that_of_the_loss_on_the_fixed_batch(self) -> None:
        model = Model()
        self.train("run", model=model, lr=0.0, curvature=lambda: self.fixed_loss(model))
        self.assertTrue(model.training)
        found = kappascope.read(self.run_dir()).series("hessian/lambda_1")[0]
        model.eval()
        now = kappascope.spectrum(lambda: self.fixed_loss(model), model, top=1)
        allowed = (found.upper[-1] - found.lower[-1]).item() / 2 + now.bounds[0].item()
        difference = found.value[-1].item() - now.eigenvalues[0].item()
        self.assertLess(abs(difference), allowed)
        self.assertLess(allowed, 1e-2 * now.eigenvalues[0].item())

    def test_the_passes_of_the_curvature_loss_are_not_of_training(self) -> None:
        model = Model()
        self.train("with", model=model, every=1, window=1, curvature=lambda: self.fixed_loss(model))
        self.train("without", every=1, window=1)
        self.assertEqual(self.rows("with"), self.rows("without"))


class Advised(Attached):
    def test_advice_is_that_of_the_measured_numbers(self) -> None:
        self.train("run", every=6, window=6)
        advice = kappascope.advise(self.run_dir())
        layers = [f"layers.{i}.down_proj" for i in (0, 1)]
        self.assertEqual([found["layer"] for found in advice.layers], layers)
        for layer in advice.layers:
            self.assertIn(layer["verdict"].split(".")[0][:20], str(advice))
            self.assertEqual(layer["in"], "steps")
            if layer["mean_costs"] is not None:
                costs = self.value("run", "learning/mean_costs", layer["layer"])
                self.assertEqual(layer["mean_costs"]["value"], costs)
        self.assertTrue(any("P-JOINT" in limit for limit in advice.limits))


class Words(Attached):
    def test_probes_are_chosen_by_name(self) -> None:
        self.train("run", probes=["features"])
        names = {series.name.split("/")[0] for series in kappascope.read(self.run_dir()).series()}
        self.assertEqual(names, {"kappa", "features", "loss", "learning_rate", "cost", "step", "memory"})
        with self.assertRaisesRegex(ValueError, "got .'nothing'"):
            self.train("other", probes=["nothing"])

    def test_a_run_that_is_there_and_a_model_without_layers_are_errors(self) -> None:
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        kappascope.attach(model, optimizer, self.run_dir()).close()
        with self.assertRaisesRegex(kappascope.Error, "already holds a run"):
            kappascope.attach(model, optimizer, self.run_dir())
        again = kappascope.attach(model, optimizer, self.run_dir(), existing="new-name")
        self.assertEqual(again.run, self.run_dir() + "-2")
        again.close()
        plain = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)
        with self.assertRaisesRegex(kappascope.Error, "pass layers=.*the linear layers are: 0, 2"):
            kappascope.attach(plain, optimizer, self.run_dir("x"))
        with self.assertRaisesRegex(kappascope.Error, "no linear layer is called foo"):
            kappascope.attach(plain, optimizer, self.run_dir("x"), layers="foo")
        self.assertFalse(Path(self.run_dir("x")).exists())
        scope = kappascope.attach(plain, optimizer, self.run_dir("y"), layers="2")
        self.assertIn("as named", scope.describe())
        scope.close()

    def test_what_does_not_fit_together_is_refused_before_a_run_is_made(self) -> None:
        model, other = Model(), Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with self.assertRaisesRegex(kappascope.Error, "the SGD trains no parameter of the Model"):
            kappascope.attach(other, optimizer, self.run_dir("other"))
        with self.assertRaisesRegex(ValueError, r"probes must be of .* got \['feature'\]"):
            kappascope.attach(model, optimizer, self.run_dir("other"), probes="feature")
        with kappascope.attach(model, optimizer, self.run_dir(), probes="features"):
            with self.assertRaisesRegex(kappascope.Error, "watched already, by the run .*close"):
                kappascope.attach(model, optimizer, self.run_dir("other"))
            with self.assertRaisesRegex(kappascope.Error, "watched already"):
                kappascope.attach(torch.compile(model), optimizer, self.run_dir("other"))
        self.assertFalse(Path(self.run_dir("other")).exists())
        kappascope.attach(model, optimizer, self.run_dir("after")).close()

    def test_an_attach_that_fails_leaves_no_run_that_runs(self) -> None:
        class Stubborn(torch.optim.SGD):
            def register_step_pre_hook(self, hook: Any) -> Any:
                raise RuntimeError("no hooks here")

        model, before = Model(), torch.autograd.backward
        with self.assertRaisesRegex(RuntimeError, "no hooks here"):
            kappascope.attach(model, Stubborn(model.parameters(), lr=0.1), self.run_dir())
        self.assertEqual(kappascope.read(self.run_dir()).facts["state"], "failed")
        self.assertIs(torch.autograd.backward, before)

    def test_a_layer_that_is_not_trained_is_shown_as_frozen(self) -> None:
        model = Model()
        model.layers[0].down_proj.requires_grad_(False)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with kappascope.attach(model, optimizer, self.run_dir()) as scope:
            frozen = [line for line in scope.describe().splitlines() if "frozen" in line]
        self.assertEqual(len(frozen), 1)
        self.assertTrue(frozen[0].startswith("layers.0.down_proj"))

    def test_the_probes_share_the_budget_that_was_set(self) -> None:
        for probes, curved in (("features", False), (("features", "hessian"), True), (None, False)):
            name = f"{probes}"
            given: dict[str, Any] = {} if probes is None else {"probes": probes}
            if curved:
                given["curvature"] = lambda: loss_of(Model()(batches(1)[0]), batches(1)[0])
            self.train(name, budget=0.02, steps=8, **given)
            with sqlite3.connect(Path(self.run_dir(name)) / "run.sqlite") as sql:
                costs = sql.execute(
                    "SELECT DISTINCT name, attributes FROM scalars WHERE name LIKE 'cost/%'"
                ).fetchall()
            shares = [json.loads(attributes).get("budget") for _, attributes in costs if attributes]
            total = sum(float(share) for share in shares if share is not None)
            self.assertAlmostEqual(total, 0.02, places=6, msg=f"{name}: {costs}")

    def test_a_wide_layer_waits_until_training_has_paid_for_it(self) -> None:
        # 2,048 features are presumed to take four seconds, of which a short training pays for none.
        for width, kinds in ((2048, {"probe_skipped", "nothing_measured"}), (16, set())):
            children = {"fc1": nn.Linear(4, width), "act": nn.ReLU(), "fc2": nn.Linear(width, 4)}
            model = nn.Sequential()
            for name, child in children.items():
                model.add_module(name, child)
            optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
            run = self.run_dir(f"{width}")
            with kappascope.attach(model, optimizer, run, probes="features"):
                for _ in range(30):
                    model(torch.randn(8, 4)).square().mean().backward()
                    optimizer.step()
            found = kappascope.read(run)
            self.assertEqual({kind for _, kind, _ in found.events}, kinds)
            self.assertEqual(len(found.series("kappa/sigma")), 0 if kinds else 1)

    def test_an_exception_ends_the_run_as_failed_and_the_hooks_are_gone(self) -> None:
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with self.assertRaises(ZeroDivisionError), kappascope.attach(
            model, optimizer, self.run_dir()
        ):
            raise ZeroDivisionError
        self.assertEqual(kappascope.read(self.run_dir()).facts["state"], "failed")
        self.assertFalse(any(module._forward_hooks for module in model.modules()))

    def test_layers_have_a_hook_in_windows_alone(self) -> None:
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        hooked = []
        with kappascope.attach(
            model, optimizer, self.run_dir(), every=3, window=1, budget=0
        ) as scope:
            for tokens in batches(6):
                hooked.append(sum(len(layer.module._forward_hooks) for layer in scope.layers))
                step(model, optimizer, scope, tokens)
                optimizer.zero_grad()
            count = len(scope.layers)
        # Windows are at steps 0 and 3; before the first update nobody knows of compilers.
        self.assertEqual(hooked, [count, 0, 0, count, 0, 0])
        self.assertEqual(len(kappascope.read(self.run_dir()).series("loss/train")[0].step), 6)

    def steps_with(
        self, norms: list[float], model: nn.Module, optimizer: torch.optim.Optimizer, scope: kappascope.Scope
    ) -> None:
        """A step each, whose gradient is said to have this norm."""
        for norm in norms:
            tokens = batches(1)[0]
            loss = loss_of(model(tokens), tokens)
            loss.backward()
            scope.loss(loss)
            scope.gradient_norm(torch.tensor(norm))
            optimizer.step()
            optimizer.zero_grad()

    def test_alarms_are_told_stored_and_end_a_run_by_what_they_throw(self) -> None:
        told: list[kappascope.Alarm] = []
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        scope = kappascope.attach(model, optimizer, self.run_dir(), on_alarm=told.append)
        norms = [1.0 + 0.01 * (step % 2) for step in range(60)] + [50.0, math.nan]
        self.steps_with(norms, model, optimizer, scope)
        scope.close()
        raised = [(alarm.name, alarm.step) for alarm in told if alarm.step >= 60]
        self.assertEqual(raised, [("gradient_norm", 60), ("non_finite", 61)])
        self.assertIn("was 50 at step 60, alarm gradient_norm at step 60", str(told[-1]))
        found = kappascope.read(self.run_dir())
        self.assertEqual(found.series("gradient_norm")[0].value[60].item(), 50.0)
        events = [(step, kind) for step, kind, _ in found.events]
        self.assertIn((60, "alarm/gradient_norm"), events)
        self.assertIn((61, "alarm/non_finite"), events)

    def test_snapshots_are_told_and_reports_written(self) -> None:
        told: list[dict[str, Any]] = []
        self.train("run", on_snapshot=told.append)
        self.assertEqual([snapshot["step"] for snapshot in told], [1, 3, 5])
        self.assertIn("layers.0.down_proj", told[0]["kappa/sigma"])
        page = kappascope.report(self.run_dir())
        self.assertIn("Kappascope</title>", Path(page).read_text())
        with self.assertRaisesRegex(kappascope.Error, "cannot open the run"):
            kappascope.read(self.run_dir("nowhere"))


if __name__ == "__main__":
    unittest.main()
