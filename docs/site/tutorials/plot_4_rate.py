# SPDX-License-Identifier: Apache-2.0
"""
Is my learning rate too high?
=============================

Two answers: how much longer the last step could have been, by forward passes alone, and the curvature that the optimiser
sees beside its limit.
"""

import kappascope
import torch
from kappascope.demo import SwiGlu
from torch.nn.functional import mse_loss

torch.manual_seed(0)
model = SwiGlu()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
x = torch.randn(256, 96)
y = torch.tanh(x @ torch.randn(96, 96) / 10)


def loss():
    return mse_loss(model(x), y)


for step in range(60):
    before = [p.detach().clone() for p in model.parameters()]
    optimizer.zero_grad()
    loss().backward()
    optimizer.step()

# %%
# The multiple of the last step at which the loss is back where it was before. Near 1 a longer step would not have helped.
print(kappascope.critical_step(loss, model, before, rate=3e-3))

# %%
# The largest eigenvalue of the preconditioned Hessian, and the limit above which Adam's steps are unstable.
print(kappascope.spectrum(loss, model, top=1, optimizer=optimizer))
