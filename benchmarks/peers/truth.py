# SPDX-License-Identifier: Apache-2.0
"""What is true: products in float64 with a float64 copy of the model, by plain PyTorch."""
import copy

import torch
from torch.nn import functional as F


class Product:
    """v -> H v on a kept graph; plain PyTorch, in the type of the model."""

    def __init__(self, model, x, y):
        self.params = list(model.parameters())
        loss = F.cross_entropy(model(x), y)
        self.gradients = torch.autograd.grad(loss, self.params, create_graph=True)
        self.size, self.device = sum(p.numel() for p in self.params), x.device

    def __call__(self, v):
        parts = [part.view_as(p) for part, p in
                 zip(v.split([p.numel() for p in self.params]), self.params)]
        product = torch.autograd.grad(self.gradients, self.params, parts, retain_graph=True)
        return torch.cat([t.reshape(-1) for t in product])


def float64_product(problem):
    """In float64, as the model's floating buffers and inputs are."""
    model = copy.deepcopy(problem.model).double()
    x = problem.x.double() if problem.x.is_floating_point() else problem.x
    return Product(model, x, problem.y)


def residual(product, values, vectors):
    """Largest ||H v - lambda v|| / |lambda_1| of unit vectors, all in float64."""
    worst = 0.0
    for value, v in zip(values.tolist(), vectors):
        v = v.to(product.device).double()
        v /= v.norm()
        worst = max(worst, (product(v) - value * v).norm().item())
    return worst / values.abs().max().item()


def reference(product, k, tol=1e-5, most=80):
    """The top k eigenvalues by Lanczos in float64, full reorthogonalisation, residual <= tol |l1|."""
    generator = torch.Generator().manual_seed(7)
    v = torch.randn(product.size, generator=generator, dtype=torch.float64).to(product.device)
    basis, diagonal, beside = [v / v.norm()], [], []
    while True:
        w = product(basis[-1])
        diagonal.append((w @ basis[-1]).item())
        for _ in range(2):
            for u in basis:
                w -= (u @ w) * u
        beside.append(w.norm().item())
        m = len(diagonal)
        side = torch.tensor(beside[:-1], dtype=torch.float64)
        middle = torch.diag(torch.tensor(diagonal, dtype=torch.float64))
        values, vectors = torch.linalg.eigh(middle + side.diag(1) + side.diag(-1))
        errors = beside[-1] * vectors[-1].abs()
        if m >= k and bool((errors[-k:] <= tol * values[-1].abs()).all()):
            return values.flip(0)[:k]
        if m == most:
            raise RuntimeError(f"the reference has not converged after {most} products")
        basis.append(w / beside[-1])
