# SPDX-License-Identifier: Apache-2.0
"""
Which layer, and why
====================

``learning`` and ``kappa`` take the features of any layer: rows [n, d], and optionally its bias [d].
"""

import kappascope
import matplotlib.pyplot as plt
import torch

torch.manual_seed(0)
rows = torch.randn(4096, 64) * torch.arange(1, 65) ** -0.5  # its spectrum falls as 1/i
mean = torch.full((64,), 0.5)

# %%
# Without a mean the layer needs some tens of steps of gradient descent to learn 90 % of what it can represent.
print(kappascope.learning(rows))

# %%
# A mean makes one direction steep, which limits the rate for all others.
found = kappascope.learning(rows + mean)
print(found)

# %%
# A bias at -μ takes that away; a bias at half of it takes a part.
shares = torch.linspace(0, 1, 6)
biased = rows + mean
found = [kappascope.learning(biased, -share * mean) for share in shares]
times = [one.with_bias.ninety for one in found]
below = [time.value - time.lower for time in times]
above = [time.upper - time.value for time in times]
plt.figure(figsize=(6, 3))
values = [time.value for time in times]
plt.errorbar(shares, values, [below, above], marker="o", capsize=3)
plt.xlabel("bias as a share of -μ")
plt.ylabel("steps to learn 90 %")
plt.ylim(0)
plt.tight_layout()

# %%
# The condition number asks for the slowest direction alone and needs more rows.
print(kappascope.kappa(rows[:128] + mean))
