# SPDX-License-Identifier: Apache-2.0
"""Lightning: a callback that attaches when the optimisers are there, and closes at the end."""

from typing import Any

import lightning
import torch
from torch import nn
from torch.nn import functional as F

import kappascope


class Kappascope(lightning.Callback):
    def __init__(self, run: str, **options: Any) -> None:
        self.run, self.options = run, options

    def on_train_start(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        steps = int(trainer.estimated_stepping_batches)
        self.scope = kappascope.attach(
            module, trainer.optimizers[0], self.run, steps=steps, **self.options
        )

    def on_train_end(self, trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
        self.scope.close()


class Autoencoder(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.act, self.fc2 = nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16)

    def training_step(self, x: torch.Tensor, index: int) -> torch.Tensor:
        return F.mse_loss(self.fc2(self.act(self.fc1(x))), x)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


torch.manual_seed(0)
loader = torch.utils.data.DataLoader(torch.randn(2048, 16), batch_size=64)
lightning.Trainer(
    max_epochs=1,
    accelerator="cpu",
    gradient_clip_val=1.0,
    callbacks=[Kappascope("runs/lightning")],
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
).fit(Autoencoder(), loader)
print(kappascope.read("runs/lightning"))
