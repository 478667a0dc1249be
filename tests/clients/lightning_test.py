# SPDX-License-Identifier: Apache-2.0
"""A Lightning module with one line more."""

import tempfile
import unittest
import sys
from pathlib import Path
from typing import Any

import kappascope
import lightning
import torch
from torch import Tensor
from torch.utils.data import DataLoader

sys.path.insert(0, str(Path(__file__).parent.parent / "python/watching"))
from training import Model, batches, loss_of  # noqa: E402


class Language(lightning.LightningModule):
    def __init__(self, run: str) -> None:
        super().__init__()
        self.model = Model()
        self.run = run

    def training_step(self, tokens: Tensor, index: int) -> Tensor:
        loss = loss_of(self.model(tokens), tokens)
        return loss

    def validation_step(self, tokens: Tensor, index: int) -> None:
        self.log("validation", loss_of(self.model(tokens), tokens))

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-3)
        self.scope = kappascope.attach(  # the line
            self.model, optimizer, self.run, every=2, window=2, budget=0
        )
        return optimizer


class Lightning(unittest.TestCase):
    def test_a_run_of_what_lightning_did(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for parts in (1, 2):
                torch.manual_seed(5)
                run = f"{folder}/{parts}"
                module = Language(run)
                seen: list[Tensor] = []
                module.model.layers[0].down_proj.register_forward_pre_hook(
                    lambda _, inputs, seen=seen: (
                        seen.append(inputs[0].detach().clone()) if torch.is_grad_enabled() else None
                    )
                )
                loader = DataLoader(torch.cat(batches(4 * parts)), batch_size=8)
                lightning.Trainer(
                    max_epochs=1,
                    accumulate_grad_batches=parts,
                    accelerator="cpu",
                    logger=False,
                    enable_checkpointing=False,
                    enable_progress_bar=False,
                    enable_model_summary=False,
                    default_root_dir=folder,
                ).fit(module, loader, DataLoader(batches(1)[0], batch_size=8))
                module.scope.close()
                found = kappascope.read(run)
                losses = found.series("loss/train")[0]
                self.assertEqual(losses.step.tolist(), [0, 1, 2, 3])
                self.assertTrue(torch.isfinite(losses.value).all())
                kappa = found.series("kappa/sigma", "layers.0.down_proj")[0]
                self.assertEqual(kappa.rows[0].item(), 2 * parts * 40)
                x = torch.cat(seen[: 2 * parts]).flatten(0, 1).double()
                ends = torch.linalg.eigvalsh(torch.cov(x.T, correction=0))
                self.assertAlmostEqual(kappa.value[0].item() / (ends[-1] / ends[0]).item(), 1, 4)


if __name__ == "__main__":
    unittest.main()
