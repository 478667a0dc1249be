# SPDX-License-Identifier: Apache-2.0
"""
Curvature of a model
====================

The Hessian and the Gauss-Newton matrix are matrices that are never formed; spectra come with certificates.
"""

import kappascope
import torch
from torch.nn.functional import cross_entropy

torch.manual_seed(0)
model = torch.nn.Sequential(
    torch.nn.Linear(20, 32), torch.nn.SiLU(), torch.nn.Linear(32, 5)
)
x, y = torch.randn(200, 20), torch.randint(5, (200,))
loss = cross_entropy(model(x), y)

# %%
# The largest eigenvalues, each with its residual.
print(kappascope.spectrum(loss, model, top=5))

# %%
# The distribution of all of them, by stochastic Lanczos quadrature, with a band.
density = kappascope.density(loss, model)
density.plot()

# %%
# The matrix itself: products, systems with their measured residual, SciPy's solvers.
with kappascope.hessian(loss, model) as H:
    v = torch.randn(H.shape[0])
    print(H.shape, (H @ v).norm())
    print(H.solve(v, damping=1.0))
    print("along the gradient:", H.along(H.gradient()))
