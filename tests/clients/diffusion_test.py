# SPDX-License-Identifier: Apache-2.0
"""A small DiT of diffusers learns to predict noise."""

import unittest

import torch
from diffusers import DDPMScheduler, DiTTransformer2DModel
from diffusers.optimization import get_cosine_schedule_with_warmup
from diffusers.training_utils import EMAModel
from loops import Loop, Made, Optimizers
from torch import nn
from torch.nn import functional

SMALL = {"num_attention_heads": 2, "attention_head_dim": 8, "in_channels": 4, "out_channels": 4, "num_layers": 2}
IMAGES = {"sample_size": 8, "patch_size": 2, "num_embeds_ada_norm": 1000, "norm_num_groups": 4}
BATCH = 16


class Diffusion(Loop):
    def make(self) -> Made:
        model = DiTTransformer2DModel(**SMALL, **IMAGES).double().train()
        self.average = EMAModel(model.parameters())
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.rate = get_cosine_schedule_with_warmup(optimizer, num_warmup_steps=2, num_training_steps=8)
        return model, [optimizer]

    def update(self, model: nn.Module, optimizers: Optimizers, number: int) -> float:
        draw = torch.Generator().manual_seed(number)
        scheduler = DDPMScheduler(num_train_timesteps=1000)
        latents, noise = torch.randn(2, BATCH, 4, 8, 8, generator=draw, dtype=torch.float64)
        timesteps = torch.randint(1000, (BATCH,), generator=draw)
        labels = torch.randint(10, (BATCH,), generator=draw)
        noisy = scheduler.add_noise(latents, noise, timesteps)
        predicted = model(noisy, timestep=timesteps, class_labels=labels, return_dict=False)[0]
        loss = functional.mse_loss(predicted, noise)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizers[0].step()
        self.rate.step()
        optimizers[0].zero_grad()
        self.average.step(model.parameters())
        return loss.item()

    def test_a_dit(self) -> None:
        layers = [f"transformer_blocks.{i}.ff.net.2" for i in range(2)]
        self.check("diffusers: DiT", layers, self.make, self.update)


if __name__ == "__main__":
    unittest.main()
