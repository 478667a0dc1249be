# SPDX-License-Identifier: Apache-2.0
"""The loop of tests/install/own_loop.cpp in Python: one gated layer, Adam, a loss of its own for the curvature."""

import torch
from torch.nn import functional as F

import kappascope


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up_proj = torch.nn.Linear(8, 32)
        self.gate_proj = torch.nn.Linear(8, 32)
        self.down_proj = torch.nn.Linear(32, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(self.up_proj(x) * F.silu(self.gate_proj(x)))


torch.manual_seed(1)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), 1e-2)
x = torch.randn(512, 8)
y = x[:, :1] * x[:, 1:2] + 1
with kappascope.attach(
    net,
    optimizer,
    run="runs/own",
    curvature=lambda: F.mse_loss(net(x), y),  # for the Hessian
    existing="new-name",  # a second start writes runs/own-2
):
    for step in range(400):
        rows = torch.randint(512, (128,))
        optimizer.zero_grad()
        loss = F.mse_loss(net(x[rows]), y[rows])
        loss.backward()
        optimizer.step()  # the scope sees the step and the loss
print(f"loss {loss.item():.3f} after 400 steps")
