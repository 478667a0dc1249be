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
from checked import checked
from torch import Tensor
from torch.utils.data import DataLoader

sys.path.insert(0, str(Path(__file__).parent.parent / "python/watching"))
from training import Model, batches, loss_of  # noqa: E402


LAYERS = [f"layers.{i}.down_proj" for i in range(2)]


class Language(lightning.LightningModule):
    def __init__(self, run: str) -> None:
        super().__init__()
        self.model = Model()
        self.run = run
        self.losses: list[float] = []
        self.alarms: list[kappascope.Alarm] = []

    def training_step(self, tokens: Tensor, index: int) -> Tensor:
        loss = loss_of(self.model(tokens), tokens)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, tokens: Tensor, index: int) -> None:
        self.log("validation", loss_of(self.model(tokens), tokens))

    def configure_optimizers(self) -> Any:
        optimizer = torch.optim.Adam(self.parameters(), lr=1e-3)
        more: Any = {"existing": "resume", "on_alarm": self.alarms.append}
        self.scope = kappascope.attach(  # the line
            self.model, optimizer, self.run, every=2, window=2, budget=0, **more
        )
        return optimizer


class Lightning(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        torch.manual_seed(5)

    def fit(self, module: Language, steps: int, parts: int = 1, **more: Any) -> lightning.Trainer:
        trainer = lightning.Trainer(
            max_steps=steps,
            accumulate_grad_batches=parts,
            accelerator="cpu",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=self.folder,
        )
        loader = DataLoader(torch.cat(batches(4 * parts)), batch_size=8)
        trainer.fit(module, loader, DataLoader(batches(1)[0], batch_size=8), **more)
        module.scope.close()
        return trainer

    def check_losses(self, run: str, passes: list[float], parts: int = 1) -> None:
        losses = kappascope.read(run).series("loss/train")[0]
        computed = torch.tensor(passes).double().view(-1, parts).mean(1)
        self.assertEqual(losses.step.tolist(), list(range(len(computed))))
        torch.testing.assert_close(losses.value, computed, rtol=1e-6, atol=0)

    def test_a_run_of_what_lightning_did(self) -> None:
        for client, parts in (("Lightning", 1), ("Lightning, accumulated", 2)):
            with self.subTest(client):
                run = f"{self.folder}/{parts}"
                module = Language(run)
                seen: list[Tensor] = []
                module.model.layers[0].down_proj.register_forward_pre_hook(
                    lambda _, inputs, seen=seen: (
                        seen.append(inputs[0].detach().clone()) if torch.is_grad_enabled() else None
                    )
                )
                self.fit(module, 4, parts)
                with checked(client, "loss"):
                    self.check_losses(run, module.losses, parts)
                found = kappascope.read(run)
                with checked(client, "layers"):
                    self.assertEqual([series.layer for series in found.series("kappa/sigma")], LAYERS)
                with checked(client, "no alarm"):
                    self.assertEqual(module.alarms, [])
                with checked(client, "κ"):
                    kappa = found.series("kappa/sigma", LAYERS[0])[0]
                    self.assertEqual(kappa.rows[0].item(), 2 * parts * 40)
                    x = torch.cat(seen[: 2 * parts]).flatten(0, 1).double()
                    ends = torch.linalg.eigvalsh(torch.cov(x.T, correction=0))
                    self.assertAlmostEqual(kappa.value[0].item() / (ends[-1] / ends[0]).item(), 1, 4)

    def test_a_run_goes_on_where_lightning_does(self) -> None:
        run, checkpoint = f"{self.folder}/run", f"{self.folder}/last.ckpt"
        first, second = Language(run), Language(run)
        self.fit(first, 2).save_checkpoint(checkpoint)
        self.fit(second, 4, ckpt_path=checkpoint)
        with checked("Lightning", "resume"):
            self.check_losses(run, first.losses + second.losses)
            self.assertEqual(kappascope.read(run).facts["resumed"], "from step 2")


if __name__ == "__main__":
    unittest.main()
