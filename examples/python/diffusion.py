# SPDX-License-Identifier: Apache-2.0
"""A small DiT of diffusers that learns to predict noise; the same two lines."""

import torch
from diffusers import DDPMScheduler, DiTTransformer2DModel
from torch.nn import functional as F

import kappascope

STEPS, CLASSES = 24, 4

torch.manual_seed(0)
sizes = {"num_attention_heads": 2, "attention_head_dim": 8, "num_layers": 2, "norm_num_groups": 4}
images = {"sample_size": 8, "patch_size": 2, "in_channels": 4, "out_channels": 4}
model = DiTTransformer2DModel(**sizes, **images).train()
scheduler = DDPMScheduler(num_train_timesteps=1000)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scope = kappascope.attach(model, optimizer, run="runs/diffusion", steps=STEPS)
for _ in range(STEPS):
    labels, timesteps = torch.randint(CLASSES, (32,)), torch.randint(1000, (32,))
    latents = torch.randn(32, 4, 8, 8) / 4 + labels[:, None, None, None]
    noise = torch.randn_like(latents)
    noisy = scheduler.add_noise(latents, noise, timesteps)
    predicted = model(noisy, timestep=timesteps, class_labels=labels).sample
    F.mse_loss(predicted, noise).backward()
    optimizer.step()
    optimizer.zero_grad()
scope.close()
print(kappascope.read("runs/diffusion"))
