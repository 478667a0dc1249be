# SPDX-License-Identifier: Apache-2.0
"""Muon for the matrices of the layers and AdamW for the rest: one of the two says where a step ends."""

import torch
from torch import nn
from torch.nn import functional as F

import kappascope

STEPS, VOCABULARY, WIDTH = 60, 64, 32


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c_fc = nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.c_proj = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.c_proj(F.relu(self.c_fc(F.rms_norm(x, (WIDTH,)))).square())


class Model(nn.Module):
    """Gives the loss, as nanochat's does."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.Sequential(Layer(), Layer())
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        logits = self.head(self.layers(self.embedding(tokens[:, :-1])))
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())


torch.manual_seed(0)
model = Model()
matrices = list(model.layers.parameters())
others = [*model.embedding.parameters(), *model.head.parameters()]
optimizers = [torch.optim.Muon(matrices, lr=0.01), torch.optim.AdamW(others, lr=3e-3)]
scope = kappascope.attach(model, optimizers[0], run="runs/muon", steps=STEPS)  # the first to step
for _ in range(STEPS):
    tokens = (torch.randint(VOCABULARY, (16, 1)) + 3 * torch.arange(33)) % VOCABULARY
    model(tokens).backward()
    for optimizer in optimizers:
        optimizer.step()
    model.zero_grad()
scope.close()
print(kappascope.read("runs/muon"))
