# SPDX-License-Identifier: Apache-2.0
"""Runs a training script of this folder as it stands, or with a line more, or with a hook of the test."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import kappascope
import numpy as np
from checked import checked
from torch.distributed import run as torchrun

HERE = Path(__file__).resolve().parent
STEPS = 6
MADE = "losses = []\n"  # the optimiser and the wrapped model are there
LINE = (
    "import kappascope; scope = kappascope.attach("
    "{attached}, run={run!r}, every=3, window=2, budget=0, {more})\n"
)
RECORD = """seen, weights = [], []
def see(module, x):
    if torch.is_grad_enabled():
        seen.append(x[0].detach().float().numpy())
        if {alone}:  # of several processes each may hold a part
            weights.append(module.weight.detach().clone().numpy())
model.get_submodule({layer!r}).register_forward_pre_hook(see)
import atexit, os, numpy
atexit.register(lambda: numpy.save({file!r} + os.environ.get("RANK", "0"), numpy.stack(seen)))
atexit.register(lambda: numpy.save({file!r} + "-weights", numpy.stack(weights)) if weights else None)
"""


class Script(unittest.TestCase):
    attached = "model, optimizer"
    """What a script has for attach()."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        words = np.random.default_rng(0).zipf(1.3, 20_000) % 256
        words.astype(np.uint16).tofile(self.folder / "train.bin")

    def read(self, script: str, layers: list[str]) -> None:
        """layers: its down-projections."""
        self.plain, self.layers = (HERE / script).read_text(), layers

    def losses(self, name: str, script: str, processes: int, *options: str, steps: int = STEPS) -> list[float]:
        """What it prints; what kappascope says is in self.said."""
        file = self.folder / f"{name}.py"
        file.write_text(script)
        launcher = [torchrun.__file__, "--standalone", "--nproc-per-node", str(processes)]
        done = subprocess.run(
            [sys.executable, "-B", *(launcher if processes > 1 else []), file, self.folder, str(steps), *options],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "OMP_NUM_THREADS": "1",
                "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
            },
        )
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        self.said = "".join(line for line in done.stderr.splitlines(True) if line.startswith("kappascope"))
        return json.loads(done.stdout)

    def watched(self, run: Path, more: str = "") -> str:
        self.assertEqual(self.plain.count(MADE), 1)
        line = LINE.format(attached=self.attached, run=str(run), more=more)
        return self.plain.replace(MADE, line + MADE)

    def check_loss(self, run: Path, printed: list[float]) -> None:
        stored = kappascope.read(run).series("loss/train")[0]
        self.assertEqual(stored.step.tolist(), list(range(len(printed))))
        np.testing.assert_allclose(stored.value, printed, rtol=1e-6)

    def check_layers(self, run: Path, rows: int) -> None:
        """rows: that enter a layer in the two updates of a window."""
        series = kappascope.read(run).series("kappa/sigma")
        self.assertEqual([one.layer for one in series], self.layers)
        for one in series:
            self.assertEqual(one.step.tolist(), [1, 3])
            self.assertEqual(one.rows.tolist(), [rows] * 2)
            self.assertTrue(np.isfinite(one.value).all())

    def check_numbers(self, client: str, processes: int, passes: int) -> None:
        """Of what entered the first layer in the first two updates, of so many passes each."""
        run, file = self.folder / "recorded-run", str(self.folder / "seen")
        record = RECORD.format(layer=self.layers[0], file=file, alone=processes == 1)
        self.losses("recorded", self.watched(run).replace(MADE, record + MADE), processes)
        # Of each process [passes, batch, tokens, d_ff].
        seen = [np.load(f"{file}{rank}.npy").astype(np.float64)[: 2 * passes] for rank in range(processes)]
        x = np.concatenate([part.reshape(-1, part.shape[-1]) for part in seen])
        last = seen[-1][-1].size // x.shape[-1]
        ends, without_last = (np.linalg.eigvalsh(np.cov(rows.T, bias=True)) for rows in (x, x[:-last]))
        # Sums of √n times the rounding of float (tensor/moments.h), beside the smallest eigenvalue.
        delta = np.sqrt(len(x)) * 2**-24 * ends.sum() / ends[0]
        expected = ends[-1] / ends[0]
        held = kappascope.read(run)
        with checked(client, "κ"):
            stored = held.series("kappa/sigma", self.layers[0])[0]
            self.assertEqual(stored.rows[0].item(), len(x))
            self.assertAlmostEqual(stored.value[0].item() / expected, 1, delta=delta)
            # A pass that was not seen would be: the check can fail.
            self.assertGreater(abs(without_last[-1] / without_last[0] / expected - 1), delta)
        with checked(client, "sizes"):
            largest = held.series("magnitude/largest", self.layers[0])[0]
            self.assertEqual(largest.value[0].item(), np.abs(x).max())
        if (weights := Path(f"{file}-weights.npy")).exists():
            with checked(client, "updates"):
                before, after = (np.load(weights)[i * passes].astype(np.float64) for i in range(2))
                moved = held.series("weight/down_update", self.layers[0])[0].value[0].item()
                change, size = np.linalg.norm(after - before), np.linalg.norm(before)
                if size > 0:
                    self.assertGreater(change, 0)
                    self.assertAlmostEqual(moved / (change / size), 1, places=12)
                else:  # matrices that begin as zeros
                    self.assertFalse(np.isfinite(moved))
