# SPDX-License-Identifier: Apache-2.0
"""Layers whose features are sharded over processes: each measures its block, or one all of them."""

import tempfile
import unittest
from pathlib import Path

import kappascope
import torch
from launch import torchrun
from tensor_parallel import train
from torch import Tensor

SCRIPT = str(Path(__file__).with_name("tensor_parallel.py"))
LAYERS = ("layers.0.down_proj", "layers.1.down_proj")


def kappa(rows: Tensor) -> float:
    values = torch.linalg.eigvalsh(torch.cov(rows.t(), correction=0))
    return (values[-1] / values[0]).item()


class TensorParallel(unittest.TestCase):
    folder: Path
    entered: dict[str, Tensor]

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.entered = train(f"{cls.folder}/alone", "alone")
        train(f"{cls.folder}/experts_alone", "experts")
        done = torchrun(SCRIPT, cls.folder, "block", "gather", "rows", "experts")
        assert done.returncode == 0, done.stderr[-3000:]

    def run_of(self, how: str) -> kappascope.Run:
        return kappascope.read(str(self.folder / how))

    def described(self, how: str) -> list[str]:
        return [(self.folder / f"{how}.{rank}.described").read_text() for rank in (0, 1)]

    def test_each_process_measures_the_block_that_it_holds(self) -> None:
        run = self.run_of("block")
        for layer in LAYERS:
            entered = self.entered[layer].flatten(0, -2)
            for begin, end in ((0, 4), (4, 8)):
                (series,) = run.series("kappa/sigma", f"{layer}[{begin}:{end}]")
                count = int(series.rows[-1].item())
                self.assertGreater(count, 40)
                wanted = kappa(entered[-count:, begin:end])  # the last window's
                self.assertAlmostEqual(series.value[-1].item(), wanted, delta=1e-8 * wanted)
                self.assertTrue(run.series("gradvar/measured", f"{layer}[{begin}:{end}]"))
            self.assertEqual(run.series("kappa/sigma", layer), [])
        for text, block in zip(self.described("block"), ("[0:4]", "[4:8]"), strict=True):
            self.assertIn(" 4/8 ", text)
            self.assertIn(f"this one layers.0.down_proj{block}; attach(gather=True)", text)

    def test_gathered_features_are_those_of_the_whole_layer(self) -> None:
        run, whole = self.run_of("gather"), self.run_of("alone")
        for name in ("kappa/sigma", "kappa/second_moment", "gradvar/measured"):
            for layer in LAYERS:
                (series,), (wanted,) = run.series(name, layer), whole.series(name, layer)
                self.assertEqual(str(series.rows.tolist()), str(wanted.rows.tolist()))
                for a, b in zip(series.value.tolist(), wanted.value.tolist(), strict=True):
                    self.assertAlmostEqual(a, b, delta=1e-8 * abs(b), msg=name)
        self.assertEqual(len(run.series("kappa/sigma")), 2)
        self.assertIn("over processes, and gathered", self.described("gather")[0])

    def test_outputs_that_are_sharded_by_rows_have_no_gradient_variance(self) -> None:
        run = self.run_of("rows")
        self.assertEqual(len(run.series("kappa/sigma")), 4)
        self.assertEqual(run.series("gradvar/measured"), [])
        self.assertIn("sharded by rows", self.described("rows")[1])

    def test_experts_are_found_where_fully_shard_puts_them_together(self) -> None:
        run, whole = self.run_of("experts"), self.run_of("experts_alone")
        names = {series.layer for series in whole.series("kappa/sigma")}
        self.assertIn("layers.1.down_proj.1", names)
        self.assertEqual({series.layer for series in run.series("kappa/sigma")}, names)
        for series in whole.series("kappa/sigma"):
            (other,) = run.series("kappa/sigma", series.layer)
            for a, b in zip(other.value.tolist(), series.value.tolist(), strict=True):
                self.assertAlmostEqual(a, b, delta=1e-10 * abs(b), msg=series.layer)


if __name__ == "__main__":
    unittest.main()
