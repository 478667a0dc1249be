# SPDX-License-Identifier: Apache-2.0
"""nanogpt.py with one line more: the losses stay the same bits (compiled: to rounding), and κ is NumPy's."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import kappascope
import numpy as np
from torch.distributed import run as torchrun

HERE = Path(__file__).resolve().parent
STEPS = 6
LAYER = "h.0.mlp.c_proj"
MADE = "losses = []\n"  # the optimiser and the wrapped model are there

LINE = "import kappascope; scope = kappascope.attach(model, optimizer, {run!r}, every=3, window=2, budget=0)\n"
RECORD = """seen = []
model.get_submodule({layer!r}).register_forward_pre_hook(lambda _, x: seen.append(x[0].detach().float().numpy()))
import atexit; atexit.register(lambda: np.save({file!r}, np.stack(seen)))
"""


class NanoGPT(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        words = np.random.default_rng(0).zipf(1.3, 20_000) % 256
        words.astype(np.uint16).tofile(self.folder / "train.bin")
        self.plain = (HERE / "nanogpt.py").read_text()

    def losses(self, name: str, script: str, processes: int, *options: str) -> list[float]:
        file = self.folder / f"{name}.py"
        file.write_text(script)
        launcher = [torchrun.__file__, "--standalone", "--nproc-per-node", str(processes)]
        done = subprocess.run(
            [sys.executable, "-B", *(launcher if processes > 1 else []), file, self.folder, str(STEPS), *options],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self.assertEqual(done.returncode, 0)
        return json.loads(done.stdout)

    def watched(self, run: Path) -> str:
        self.assertEqual(self.plain.count(MADE), 1)
        return self.plain.replace(MADE, LINE.format(run=str(run)) + MADE)

    def kappa(self, run: Path, rows: int) -> float:
        found = kappascope.read(run)
        series = found.series("kappa/sigma", LAYER)[0]
        self.assertEqual(series.step.tolist(), [1, 3])
        self.assertEqual(series.rows.tolist(), [rows] * 2)
        return series.value[0].item()

    def test_the_same_losses_and_the_kappa_of_numpy(self) -> None:
        for name, processes, options in (
            ("alone", 1, ()),
            ("compiled", 1, ("--compile",)),
            ("ddp", 2, ()),
            ("ddp, compiled", 2, ("--compile",)),
        ):
            with self.subTest(name):
                run = self.folder / f"run-{name}"
                with_it = self.losses(name, self.watched(run), processes, *options)
                without = self.losses("plain", self.plain, processes, *options)
                if options:  # a hook parts the graph, and other kernels are fused
                    np.testing.assert_allclose(with_it, without, rtol=2**-8)  # of bfloat16
                else:
                    self.assertEqual(with_it, without)
                stored = kappascope.read(run).series("loss/train")[0]
                self.assertEqual(stored.step.tolist(), list(range(STEPS)))
                # The script prints four times that of an update's last pass, the run has their sum.
                np.testing.assert_allclose(stored.value, with_it, rtol=0.2)
                self.assertTrue(np.isfinite(self.kappa(run, 2 * 4 * 4 * 32)))

    def test_kappa_is_of_what_entered_the_layer(self) -> None:
        run, file = self.folder / "run", self.folder / "seen.npy"
        recorded = self.watched(run).replace(
            MADE, RECORD.format(layer=LAYER, file=str(file)) + MADE
        )
        self.losses("recorded", recorded, 1)
        seen = np.load(file).astype(np.float64)  # [passes, batch, tokens, d_ff]
        x = seen[: 2 * 4].reshape(-1, seen.shape[-1])
        ends, without_last = (
            np.linalg.eigvalsh(np.cov(rows.T, bias=True)) for rows in (x, x[: -4 * 32])
        )
        # Sums of √n times the rounding of float (tensor/moments.h), beside the smallest eigenvalue.
        delta = np.sqrt(len(x)) * 2**-24 * ends.sum() / ends[0]
        expected = ends[-1] / ends[0]
        self.assertAlmostEqual(self.kappa(run, len(x)) / expected, 1, delta=delta)
        # A pass that was not seen would be: the check can fail.
        self.assertGreater(abs(without_last[-1] / without_last[0] / expected - 1), delta)


if __name__ == "__main__":
    unittest.main()
