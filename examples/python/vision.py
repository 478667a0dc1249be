# SPDX-License-Identifier: Apache-2.0
"""A small ViT of timm on random images; the same two lines."""

import timm
import torch
from torch.nn import functional as F

import kappascope

STEPS = 24

torch.manual_seed(0)
model = timm.create_model(
    "vit_tiny_patch16_224", img_size=32, patch_size=8, embed_dim=32, depth=2, num_heads=2, num_classes=4
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
scope = kappascope.attach(model, optimizer, run="runs/vision", steps=STEPS)
for _ in range(STEPS):
    labels = torch.randint(4, (32,))
    images = torch.randn(32, 3, 32, 32) + labels[:, None, None, None]
    F.cross_entropy(model(images), labels).backward()
    optimizer.step()
    optimizer.zero_grad()
scope.close()
print(kappascope.read("runs/vision"))
