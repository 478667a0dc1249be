# SPDX-License-Identifier: Apache-2.0
"""An optimiser written by hand: the loop says where a step ends, and the rate."""

import torch
from torch import nn
from torch.nn import functional as F

import kappascope

STEPS, RATE = 60, 0.05


class SignDescent:
    """Takes no hooks: it is no torch.optim.Optimizer."""

    def __init__(self, parameters: list[nn.Parameter]) -> None:
        self.parameters = parameters

    @torch.no_grad()
    def step(self) -> None:
        for parameter in self.parameters:
            parameter -= RATE / 50 * parameter.grad.sign()
            parameter.grad = None


torch.manual_seed(0)
layers = {"fc1": nn.Linear(8, 32), "act": nn.GELU(), "fc2": nn.Linear(32, 8)}
model = nn.Sequential()
for name, layer in layers.items():
    model.add_module(name, layer)
optimizer = SignDescent(list(model.parameters()))
scope = kappascope.attach(model, optimizer, run="runs/own", steps=STEPS)
for _ in range(STEPS):
    x = torch.randn(256, 8)
    loss = F.mse_loss(model(x), x.roll(1, 1))
    loss.backward()
    scope.step(RATE)  # before the update
    optimizer.step()
scope.close()
print(kappascope.read("runs/own"))
