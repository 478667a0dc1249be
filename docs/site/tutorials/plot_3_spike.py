# SPDX-License-Identifier: Apache-2.0
"""
My loss spiked
==============

Alarms are events of the run, and are passed to ``on_alarm`` before the update of their step.
"""

from pathlib import Path
from tempfile import mkdtemp

import kappascope
import torch
from kappascope.demo import SwiGlu

torch.manual_seed(0)
model = SwiGlu()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(512, 96)
y = torch.tanh(x @ torch.randn(96, 96) / 10)
alarms = []
run = Path(mkdtemp()) / "run"
scope = kappascope.attach(
    model, optimizer, run, every=20, budget=0, on_alarm=alarms.append
)
for step in range(200):
    if step == 120:
        optimizer.param_groups[0]["lr"] = 60.0  # far too much
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    gradients = [p.grad for p in model.parameters()]
    scope.gradient_norm(torch.nn.utils.get_total_norm(gradients))
    optimizer.step()
    optimizer.zero_grad()
    if not loss.isfinite():
        break
scope.close()

# %%
# What was told, from the first on.
for alarm in alarms[:6]:
    print(alarm)

# %%
# The same stands in the run, with its step.
for step, kind, message in kappascope.read(run).events[:6]:
    print(step, kind, message)
