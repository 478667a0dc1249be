# SPDX-License-Identifier: Apache-2.0
"""
Compare two arms over three seeds
=================================

Runs with one label are one arm. A page of a folder of runs draws medians and bands, and compares arms in pairs of seeds.
"""

from pathlib import Path
from tempfile import mkdtemp

import kappascope
import matplotlib.pyplot as plt
import torch
from kappascope.demo import SwiGlu

folder = Path(mkdtemp())


def train(seed, bias):
    torch.manual_seed(seed)
    model = SwiGlu()
    x = torch.randn(512, 96) + 1
    y = torch.tanh(x @ torch.randn(96, 96) / 10)
    label = "post-gating bias" if bias else "no bias"
    if bias:
        kappascope.add_post_gating_bias(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    run = folder / f"{label}-{seed}"
    options = {"every": 25, "budget": 0, "label": label, "facts": {"seed": str(seed)}}
    with kappascope.attach(model, optimizer, run, on_alarm=print, **options):
        for step in range(150):
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    return run


runs = {bias: [train(seed, bias) for seed in range(3)] for bias in (False, True)}

# %%
# Steps to learn 90 % of what the layer can represent, at the bias of the moment, a line a run.
plt.figure(figsize=(6, 3))
for bias, color, name in ((False, "C0", "second_moment"), (True, "C1", "with_bias")):
    for i, run in enumerate(runs[bias]):
        (series,) = kappascope.read(run).series(f"learning/{name}")
        label = ("bias" if bias else "no bias") if i == 0 else None
        plt.plot(series.step, series.value, color=color, marker="o", label=label)
plt.xlabel("step")
plt.ylabel("steps to learn 90 %")
plt.legend()
plt.tight_layout()

# %%
# One page of all six: ``kappascope report FOLDER`` does the same in a terminal.
page = kappascope.report(folder)
print(Path(page).name, "of", Path(page).stat().st_size // 1000, "kB")
