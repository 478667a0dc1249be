# SPDX-License-Identifier: Apache-2.0
"""Every program of examples/python, in an empty folder: those whose packages are installed here."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import kappascope
import torch
from torch.distributed import run as torchrun

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/python"
# What each needs beside torch, the steps that it takes, and how many layers it has.
PROGRAMS = {
    "loop": ("torch", 60, 2),
    "trainer": ("transformers", 24, 2),
    "accelerate_loop": ("accelerate", 24, 2),
    "own_loop": ("torch", 400, 1),
    "own_optimizer": ("torch", 60, 1),
    "torchrun": ("transformers", 24, 2),
    "features": ("transformers", 0, 2),
    "lightning_callback": ("lightning", 32, 1),
    "lora": ("peft", 24, 2),
    "vision": ("timm", 24, 2),
    "muon": ("torch", 60, 2),
    "diffusion": ("diffusers", 24, 2),
}


class Examples(unittest.TestCase):
    def run_program(self, name: str, folder: Path) -> str:
        launcher = [torchrun.__file__, "--standalone", "--nproc-per-node", "2"]
        done = subprocess.run(
            [sys.executable, "-B", *(launcher if name == "torchrun" else []), EXAMPLES / f"{name}.py"],
            cwd=folder,
            capture_output=True,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertNotIn("kappascope: alarm", done.stderr)
        return done.stdout

    def test_every_program_is_listed(self) -> None:
        self.assertEqual({file.stem for file in EXAMPLES.glob("*.py")}, set(PROGRAMS))

    def test_each_runs_as_it_stands(self) -> None:
        for name, (package, steps, layers) in PROGRAMS.items():
            if importlib.util.find_spec(package) is None:
                continue
            with self.subTest(name), tempfile.TemporaryDirectory() as text:
                folder = Path(text)
                printed = self.run_program(name, folder)
                if steps == 0:
                    self.assertEqual(printed.count("effective rank"), layers)
                    continue
                (path,) = (folder / "runs").iterdir()
                run = kappascope.read(path)
                self.assertIn(str(steps), printed)
                self.assertEqual(run.facts["state"], "finished")
                loss = run.series("loss/train")[0]
                self.assertEqual(loss.step.tolist(), list(range(steps)))
                self.assertTrue(torch.isfinite(torch.as_tensor(loss.value)).all())
                measured = run.series("kappa/sigma")
                self.assertEqual(len(measured), layers)
                for series in measured:  # not at the start; what the budget pays for later differs
                    self.assertGreaterEqual(min(series.step.tolist()), 16)


if __name__ == "__main__":
    unittest.main()
