# SPDX-License-Identifier: Apache-2.0
"""Several processes measure what one measures that sees all of the data.

Two of them; KAPPASCOPE_PROCESSES=4 in the environment takes four.
"""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import kappascope
from launch import torchrun
from processes import train

SCRIPT = str(Path(__file__).with_name("processes.py"))
PROCESSES = os.environ.get("KAPPASCOPE_PROCESSES", "2")
# Of one process per batch; those of several are each about their own part.
OF_A_BATCH = ("gradvar/", "loss/", "cost/", "memory/")


class Processes(unittest.TestCase):
    folder: Path
    whole: kappascope.Run

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        train(f"{cls.folder}/alone", "alone")
        cls.whole = kappascope.read(f"{cls.folder}/alone")
        done = cls.launch("ddp", "passes", "fsdp", "fsdp_adam")
        assert done.returncode == 0, done.stderr[-3000:]

    @classmethod
    def launch(cls, *how: str) -> "subprocess.CompletedProcess[str]":
        return torchrun(SCRIPT, cls.folder, *how, processes=int(PROCESSES))

    def run_of(self, how: str) -> kappascope.Run:
        return kappascope.read(str(self.folder / how))

    def check_same(
        self, whole: kappascope.Run, parts: kappascope.Run, missing: tuple[str, ...] = ()
    ) -> None:
        compared = 0
        for series in whole.series():
            if series.name.startswith(OF_A_BATCH) or series.name.startswith("hessian/"):
                continue
            if series.name.startswith(missing):
                self.assertEqual(parts.series(series.name, series.layer), [])
                continue
            (other,) = parts.series(series.name, series.layer)
            self.assertEqual(other.step.tolist(), series.step.tolist())
            if series.name.startswith("learning/"):
                self.check_covered(series, other)
                continue
            self.assertEqual(other.status, series.status)
            for a, b in zip(other.value.tolist(), series.value.tolist(), strict=True):
                self.assertAlmostEqual(a, b, delta=1e-10 * abs(b), msg=series.name)
            compared += 1
        self.assertGreater(compared, 20)

    def check_covered(self, a: kappascope.Series, b: kappascope.Series) -> None:
        """Estimates of the same rows that came in another order, so with other random signs."""
        for one, other in ((a, b), (b, a)):
            for value, low, high in zip(
                one.value.tolist(), other.lower.tolist(), other.upper.tolist(), strict=True
            ):
                self.assertGreaterEqual(value, low, msg=one.name)
                self.assertLessEqual(value, high, msg=one.name)

    def check_curvature(self, whole: kappascope.Run, parts: kappascope.Run) -> None:
        for name in ("hessian/lambda_1", "hessian/lambda_5", "hessian/lambda_min_1"):
            (a,), (b,) = parts.series(name), whole.series(name)
            self.assertEqual(a.step.tolist(), b.step.tolist())
            # Differences of gradients have more noise, which moves what can be certified.
            for mine, its in zip(a.status, b.status, strict=True):
                differ_in_rank = {mine, its} == {"converged", "uncertified"}
                self.assertTrue(mine == its or differ_in_rank, (name, mine, its))
            scale = whole.series("hessian/lambda_1")[0].value.max().item()
            for x, y in zip(a.value.tolist(), b.value.tolist(), strict=True):
                self.assertAlmostEqual(x, y, delta=2e-3 * scale, msg=name)
        # By other random vectors: both hold what the trace is.
        (a,), (b,) = parts.series("hessian/trace"), whole.series("hessian/trace")
        for low, high, x, y in zip(a.lower, b.upper, b.lower, a.upper, strict=True):
            self.assertLessEqual(low.item(), high.item())
            self.assertLessEqual(x.item(), y.item())

    def test_processes_give_the_numbers_of_one(self) -> None:
        whole = self.whole
        ddp = self.run_of("ddp")
        self.check_same(whole, ddp)
        self.assertEqual(ddp.facts["processes"], PROCESSES)
        self.check_curvature(whole, ddp)
        self.check_same(whole, self.run_of("passes"))

    def test_sharded_parameters_give_the_numbers_of_whole_ones(self) -> None:
        whole = self.whole
        fsdp = self.run_of("fsdp")
        # Weights are whole in a pass alone, and no process can evaluate the loss by itself.
        self.check_same(whole, fsdp, missing=("weight/", "step/critical"))
        self.check_curvature(whole, fsdp)
        self.assertEqual(fsdp.facts["parameters"], whole.facts["parameters"])
        self.assertTrue(fsdp.series("hessian/stability_limit"))

    def test_sharded_second_moments_are_left_alone_and_that_is_said(self) -> None:
        run = self.run_of("fsdp_adam")
        self.assertTrue(run.series("hessian/lambda_1"))
        self.assertEqual(run.series("hessian/stability_limit"), [])
        notes = [str(event) for event in run.events]
        self.assertTrue(any("second moments are sharded" in note for note in notes), notes)

    def test_a_process_that_dies_leaves_what_was_measured(self) -> None:
        self.assertNotEqual(self.launch("dies").returncode, 0)
        run = self.run_of("dies")
        self.assertIn(run.facts["state"], ("dead", "failed", "interrupted"))
        self.assertEqual(run.series("kappa/sigma", "layers.0.down_proj")[0].step.tolist(), [1, 2])
        self.assertGreaterEqual(len(run.series("loss/train")[0].step), 3)


if __name__ == "__main__":
    unittest.main()
