# SPDX-License-Identifier: Apache-2.0
"""Long calls can be ended and show how far they are; results become what people need."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

import kappascope
import torch
from models import Problem
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset


PROFILED = """
import sys
sys.path.insert(0, {folder!r})
import kappascope, torch
from models import Problem
from torch.profiler import ProfilerActivity, profile

problem = Problem()

def ask():
    batches = [torch.zeros(2)] * 4
    return kappascope.spectrum(lambda _: problem.loss(), problem.model, batches=batches, top=2)

plain = ask()
with profile(activities=[ProfilerActivity.CPU], profile_memory={memory}) as profiled:
    seen = ask()
assert torch.allclose(plain.eigenvalues, seen.eigenvalues, rtol=1e-6), (plain, seen)
assert len(profiled.events()) > 100
print(plain.product_kind, seen.product_kind)
"""


class Ended(unittest.TestCase):
    def problem(self, after: int) -> tuple[Problem, Any]:
        """A loss at whose evaluation number `after` somebody presses Ctrl-C."""
        problem = Problem()
        evaluations = 0

        def loss() -> Tensor:
            nonlocal evaluations
            evaluations += 1
            if evaluations == after:
                os.kill(os.getpid(), signal.SIGINT)
            return problem.loss()

        return problem, loss

    def test_ctrl_c_ends_a_spectrum_with_what_is_there(self) -> None:
        problem, loss = self.problem(after=12)
        before = signal.getsignal(signal.SIGINT)
        found = kappascope.spectrum(loss, problem.model, top=3, tol=1e-9, product="recomputed")
        self.assertIs(signal.getsignal(signal.SIGINT), before)
        self.assertEqual(found.status, "interrupted")
        self.assertIn("it was interrupted", repr(found))
        self.assertLess(found.products, 13)
        exact = torch.linalg.eigvalsh(problem.dense())
        self.assertGreater(found.eigenvalues.numel(), 0)
        for value, bound in zip(found.eigenvalues, found.bounds, strict=True):
            self.assertLessEqual((exact - value).abs().min(), bound)

    def test_ctrl_c_ends_density_and_trace(self) -> None:
        for question in (kappascope.density, kappascope.trace):
            problem, loss = self.problem(after=8)
            with self.assertRaises(KeyboardInterrupt):
                question(loss, problem.model, product="recomputed")

    def test_ctrl_c_ends_the_set_up_of_differences(self) -> None:
        for after in (1, 2, 5, 9):
            problem, loss = self.problem(after)
            before = [parameter.detach().clone() for parameter in problem.model.parameters()]
            evaluations = 0

            def counted(loss: Any = loss) -> Tensor:
                nonlocal evaluations
                evaluations += 1
                return loss()  # type: ignore[no-any-return]

            said = io.StringIO()
            with contextlib.redirect_stderr(said), self.assertRaises(KeyboardInterrupt):
                kappascope.spectrum(
                    counted, problem.model, product="finite difference", progress=True
                )
            self.assertEqual(evaluations, after)
            self.assertIn("setting up", said.getvalue())
            for parameter, value in zip(problem.model.parameters(), before, strict=True):
                self.assertTrue(torch.equal(parameter, value))

    def test_progress_is_shown(self) -> None:
        problem = Problem()
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            found = kappascope.spectrum(problem.loss, problem.model, progress=True)
        self.assertIn("/300 ", said.getvalue())
        self.assertEqual(found.status, "converged")
        with contextlib.redirect_stderr(silent := io.StringIO()):
            kappascope.spectrum(problem.loss, problem.model)
        self.assertEqual(silent.getvalue(), "")


class Profiled(unittest.TestCase):
    def test_a_profiler_sees_a_spectrum_without_complaint(self) -> None:
        for memory in (False, True):
            script = PROFILED.format(folder=str(Path(__file__).parent), memory=memory)
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr[-2000:])
            self.assertEqual(done.stdout.strip(), "graph kept recomputed")
            self.assertNotIn("xception", done.stderr)


class Asked(unittest.TestCase):
    def test_a_shuffled_loader_is_refused_with_the_cure(self) -> None:
        problem = Problem()
        data = TensorDataset(problem.x, problem.y)

        def loss(batch: list[Tensor]) -> Tensor:
            return torch.nn.functional.cross_entropy(problem.model(batch[0]), batch[1])

        with self.assertRaisesRegex(ValueError, r"list\(loader\).*shuffle=False"):
            kappascope.spectrum(
                loss, problem.model, batches=DataLoader(data, batch_size=8, shuffle=True)
            )

    def test_parameters_by_glob(self) -> None:
        problem = Problem()
        found = kappascope.spectrum(problem.loss, problem.model, only="down.*", top=1)
        self.assertEqual(set(found.shapes), {"down.weight", "down.bias"})
        part = list(problem.model.down.named_parameters())
        same = kappascope.spectrum(problem.loss, part, top=1)
        self.assertAlmostEqual(found.eigenvalues[0].item(), same.eigenvalues[0].item(), places=9)
        with self.assertRaisesRegex(ValueError, r"is called nothing\.\*: bias, up\.weight"):
            kappascope.spectrum(problem.loss, problem.model, only="nothing.*")


class Shown(unittest.TestCase):
    def results(self) -> list[Any]:
        problem = Problem()
        return [
            kappascope.spectrum(problem.loss, problem.model, top=3, which="both"),
            kappascope.density(problem.loss, problem.model, steps=8),
            kappascope.trace(problem.loss, problem.model),
            kappascope.kappa(problem.x, torch.ones(5, dtype=torch.float64)),
            kappascope.learning(problem.x, torch.ones(5, dtype=torch.float64)),
        ]

    def test_shares_of_an_eigenvector_add_up(self) -> None:
        spectrum = self.results()[0]
        for shares in spectrum.shares():
            self.assertEqual(list(shares), list(spectrum.shapes))
            self.assertAlmostEqual(sum(shares.values()), 1, places=9)

    def test_dictionaries_frames_and_notebooks(self) -> None:
        for found in self.results():
            again = json.loads(json.dumps(found.to_dict()))
            self.assertNotIn("eigenvectors", again)
            self.assertEqual(again["seconds"], found.seconds)
            frame = found.frame()
            self.assertEqual(len(frame), len(found.table()))
            self.assertIn("<p>", found._repr_html_())
        spectrum, _, _, conditioning, _ = self.results()
        self.assertEqual(spectrum.to_dict()["eigenvalues"], spectrum.eigenvalues.tolist())
        self.assertEqual(spectrum.frame().eigenvalue.tolist(), spectrum.eigenvalues.tolist())
        self.assertEqual(conditioning.to_dict()["sigma"]["value"], conditioning.sigma.value)
        page = conditioning._repr_html_()
        self.assertIn("<td>κ(Σ)</td>", page)
        self.assertIn(f"{conditioning.sigma.value:.6g}", page)

    def test_figures(self) -> None:
        import matplotlib

        matplotlib.use("Agg")
        for found in self.results():
            axes = found.plot()
            self.assertTrue(axes.get_xlabel())
            self.assertGreater(len(axes.lines) + len(axes.containers), 0)
            self.assertIs(found.plot(axes), axes)
            matplotlib.pyplot.close("all")


if __name__ == "__main__":
    unittest.main()
