# SPDX-License-Identifier: Apache-2.0
"""torchrun -m kappascope.train: several processes train as one does, lose one, and go on.

Two of them; KAPPASCOPE_PROCESSES=4 in the environment takes four.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import kappascope

ROOT = Path(__file__).resolve().parents[2]
PROCESSES = int(os.environ.get("KAPPASCOPE_PROCESSES", "2"))
STEPS = 24
# Without random masks, and without a division by gradients that are next to none.
SETTINGS = [
    *["--config", str(ROOT / "experiments/demo.ini"), f"--train.steps={STEPS}", "--train.threads=1"],
    *["--train.optimizer=sgd", "--train.learning-rate=0.05", "--model.dropout=0", "--model.width=24"],
    *["--model.hidden=48", "--train.eval-rows=256", "--probes.every=8", "--probes.window=4"],
    *["--probes.hessian=false", "--probes.budget=0", "--probes.gradient-variance=false"],
    *["--train.checkpoint-every=8"],
]


def words(processes: int, *arguments: str) -> list[str]:
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    return [sys.executable, *(launcher if processes > 1 else []), "-m", "kappascope.train", *arguments]


def start(processes: int, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        words(processes, *arguments),
        env={**os.environ, "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class TrainerProcesses(unittest.TestCase):
    def setUp(self) -> None:
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = Path(self.scratch.name)

    def train(self, processes: int, *arguments: str) -> None:
        running = start(processes, *arguments)
        _, errors = running.communicate(timeout=300)
        self.assertEqual(running.returncode, 0, errors[-3000:])

    def losses(self, run: str) -> list[float]:
        (loss,) = kappascope.read(str(self.folder / run)).series("loss/train")
        return [float(value) for value in loss.value]

    def check_same(self, run: str, other: str) -> None:
        ours, theirs = self.losses(run), self.losses(other)
        self.assertEqual(len(ours), STEPS)
        self.assertEqual(len(theirs), STEPS)
        for a, b in zip(ours, theirs, strict=True):
            self.assertAlmostEqual(a, b, delta=1e-5 * abs(b))

    def test_loss_and_condition_numbers_are_those_of_one_process(self) -> None:
        self.train(1, *SETTINGS, "--out", str(self.folder / "one"))
        self.train(PROCESSES, *SETTINGS, "--out", str(self.folder / "several"))
        self.check_same("several", "one")
        one, several = (kappascope.read(str(self.folder / run)) for run in ("one", "several"))
        self.assertEqual(several.facts["processes"], str(PROCESSES))
        compared = 0
        for kappa in one.series("kappa/sigma"):
            (other,) = several.series("kappa/sigma", kappa.layer)
            self.assertEqual(other.step.tolist(), kappa.step.tolist())
            # Features are floats: their rounding, of the size of the largest eigenvalue, is kappa times as
            # much of the smallest.
            for a, b in zip(other.value.tolist(), kappa.value.tolist(), strict=True):
                self.assertAlmostEqual(a, b, delta=2**-24 * b * b)
                compared += 1
        self.assertGreater(compared, 3)

    def test_a_process_is_killed_and_another_number_goes_on(self) -> None:
        run = self.folder / "killed"
        long = [*SETTINGS, "--train.batch=1024", "--out", str(run)]
        running = start(PROCESSES, *long)
        deadline = time.monotonic() + 120
        while not list(run.glob("checkpoints/*.safetensors")) and running.poll() is None:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        last = self.processes_of(running.pid)[-1]
        os.kill(last, signal.SIGKILL)
        running.communicate(timeout=300)
        self.assertNotEqual(running.returncode, 0)
        self.train(1, *SETTINGS, "--train.batch=1024", "--out", str(self.folder / "straight"))
        self.train(PROCESSES + 1, "--resume", str(run))
        facts = kappascope.read(str(run)).facts
        self.assertEqual(facts["state"], "finished")
        self.assertRegex(facts["processes"], rf"^{PROCESSES}, {PROCESSES + 1} from step \d+$")
        self.check_same("killed", "straight")

    def processes_of(self, launcher: int) -> list[int]:
        children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
        return sorted(int(child) for child in children)

    def test_fewer_rows_than_processes_are_refused(self) -> None:
        running = start(2, *SETTINGS, "--train.batch=1", "--out", str(self.folder / "small"))
        _, errors = running.communicate(timeout=300)
        self.assertNotEqual(running.returncode, 0)
        self.assertIn("a batch of 1 does not reach for 2 processes", errors)


if __name__ == "__main__":
    unittest.main()
