# SPDX-License-Identifier: Apache-2.0
"""A PyTorch loop in the manner of nanoGPT: gated layers, warm-up, clipping; two lines watch it."""

import torch
from torch import nn
from torch.nn import functional as F

import kappascope

STEPS, TOKENS, VOCABULARY, WIDTH = 60, 32, 64, 32


class SwiGLU(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.up_proj = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.down_proj = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(SwiGLU() for _ in range(2))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.embedding(tokens[:, :-1])
        for layer in self.layers:
            x = x + layer(x)
        logits = self.head(x)
        return logits, F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
scope = kappascope.attach(model, optimizer, run="runs/loop", steps=STEPS)  # one
for step in range(STEPS):
    for group in optimizer.param_groups:
        group["lr"] = 3e-3 * min(1, (step + 1) / 10)
    tokens = torch.randint(VOCABULARY, (16, TOKENS)).cumsum(1) % VOCABULARY
    _, loss = model(tokens)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
scope.close()  # two
print(kappascope.read("runs/loop"))
