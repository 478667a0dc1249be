# SPDX-License-Identifier: Apache-2.0
"""Of the curvature of a loss: eigenvalues, traces, determinants, matrices."""

import imate
import jax
import kappascope
import numpy as np
import primme
import torch
from matfree import decomp, funm, stochtrace
from nngeometry.layercollection import LayerCollection
from nngeometry.metrics import FIM
from nngeometry.object import PMatDense
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.nn import functional as F

from rows import relative, row, rows_of


def closed_form_of_logistic_regression():
    """The Hessian of the mean loss is XᵀDX / n with D = p (1 - p), at scikit-learn's minimum."""
    x, y = rows_of("breast_cancer")
    x = StandardScaler().fit_transform(x)
    weights = LogisticRegression(C=1.0, max_iter=1000).fit(x, y).coef_[0]
    p = 1 / (1 + np.exp(-x @ weights))
    exact = np.linalg.eigvalsh(x.T * (p * (1 - p)) @ x / len(x))[::-1][:5]
    w, rows, labels = torch.from_numpy(weights).requires_grad_(), torch.from_numpy(x), torch.from_numpy(y).double()
    found = kappascope.spectrum(lambda: F.binary_cross_entropy_with_logits(rows @ w, labels), [w], top=5, tol=1e-10)
    return row("five eigenvalues of a logistic regression's Hessian", "XᵀDX/n at scikit-learn's weights", relative(found.eigenvalues, exact), 1e-8)


def closed_form_of_softmax_regression():
    x, y = rows_of("wine")
    x = StandardScaler().fit_transform(x)
    weights = LogisticRegression(C=1.0, max_iter=1000).fit(x, y).coef_
    logits = x @ weights.T
    p = np.exp(logits - logits.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    classes = np.einsum("ni,ij->nij", p, np.eye(3)) - np.einsum("ni,nj->nij", p, p)
    exact = np.einsum("nij,nk,nl->ikjl", classes, x, x).reshape(39, 39) / len(x)
    exact = np.linalg.eigvalsh(exact)[::-1][:5]
    w, rows, labels = torch.from_numpy(weights).requires_grad_(), torch.from_numpy(x), torch.from_numpy(y)
    found = kappascope.spectrum(lambda: F.cross_entropy(rows @ w.T, labels), [w], top=5, tol=1e-10)
    return row("the same of a softmax regression's", "(diag p - ppᵀ) ⊗ xxᵀ", relative(found.eigenvalues, exact), 1e-8)


def network():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(13, 24), torch.nn.SiLU(), torch.nn.Linear(24, 3)).double()
    x, y = rows_of("wine")
    return model, torch.from_numpy(StandardScaler().fit_transform(x)), torch.from_numpy(y)


def eigenpairs_of_primme():
    """On the matrix as SciPy sees it, so that the products are ours and the eigenvalues are not."""
    model, x, y = network()
    with kappascope.hessian(F.cross_entropy(model(x), y), model) as matrix:
        exact, _ = primme.eigsh(matrix.to_scipy(), 5, which="LA", tol=1e-12)
    found = kappascope.spectrum(F.cross_entropy(model(x), y), model, top=5, tol=1e-10)
    return row("five eigenvalues of a network's Hessian", "PRIMME on the same products", relative(found.eigenvalues, exact), 1e-8)


def hessian_row_by_row(model, loss):
    parameters = list(model.parameters())
    gradient = torch.cat([g.flatten() for g in torch.autograd.grad(loss, parameters, create_graph=True)])
    rows = [torch.cat([g.flatten() for g in torch.autograd.grad(entry, parameters, retain_graph=True)]) for entry in gradient]
    return torch.stack(rows)


def trace():
    model, x, y = network()
    exact = float(hessian_row_by_row(model, F.cross_entropy(model(x), y)).trace())
    found = kappascope.trace(lambda: F.cross_entropy(model(x), y), model)
    inside = found.lower <= exact <= found.upper
    return row("trace of the same, 95 % interval", "sum of the diagonal, by PyTorch row by row", f"{exact:.5g} in [{found.lower:.5g}, {found.upper:.5g}]", "inside", inside)


def square_of_imate():
    """Both by stochastic Lanczos quadrature: theirs of the dense matrix, ours of products with it."""
    model, x, y = network()
    dense = hessian_row_by_row(model, F.cross_entropy(model(x), y)).numpy()
    settings = {"method": "slq", "error_rtol": 1e-3, "max_num_samples": 4000, "seed": 1}
    theirs = imate.trace((dense + dense.T) / 2, p=2, **settings)
    starts = [kappascope.density(lambda: F.cross_entropy(model(x), y), model, starts=8, seed=seed) for seed in range(16)]
    squares = [len(dense) * float((one.weights * one.nodes**2).sum()) for one in starts]
    error = np.std(squares, ddof=1) / np.sqrt(len(squares))
    distance = abs(np.mean(squares) - theirs) / error
    return row("trace of its square, from the nodes of 16 densities", f"imate's stochastic Lanczos quadrature, {theirs:.5g}", f"{distance:.2g} standard errors", "at most 3", distance <= 3)


def fisher_of_nngeometry():
    model, x, y = network()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=len(x))
    torch.set_default_dtype(torch.float64)  # which it builds the labels' distribution in
    theirs = FIM(
        model=model, loader=loader, representation=PMatDense, variant="classif_logits",
        function=lambda batch, _: model(batch), layer_collection=LayerCollection.from_model(model),
    ).to_torch()
    torch.set_default_dtype(torch.float32)
    outputs = kappascope.Outputs(model(x), "cross_entropy")
    with kappascope.curvature(outputs, model, operator="ggn") as matrix:
        ours = matrix @ torch.eye(matrix.shape[0], dtype=torch.double)
    return row("Gauss-Newton matrix of the same", "nngeometry's Fisher matrix, dense", relative(ours.detach(), theirs.detach()), 1e-10)


def determinant_of_matfree():
    """Of the Gauss-Newton matrix + 0.01, 411 by 411. Our interval holds the exact value; theirs is a sample of 400 vectors."""
    model, x, y = network()
    with kappascope.curvature(kappascope.Outputs(model(x), "cross_entropy"), model, operator="ggn") as matrix:
        dense = (matrix @ torch.eye(matrix.shape[0], dtype=torch.double)).detach().numpy()
        ours = matrix.logdet(damping=0.01)
    dense = (dense + dense.T) / 2 + 0.01 * np.eye(len(dense))
    exact = float(np.linalg.slogdet(dense)[1])
    jax.config.update("jax_enable_x64", True)
    estimate = stochtrace.estimator_monte_carlo_mean_and_sem(
        funm.monte_carlo_funm_sym_logdet(decomp.tridiag_sym(40)),
        stochtrace.sampler_signs(jax.numpy.ones(len(dense)), num=400),
    )
    theirs, error = map(float, estimate(lambda v: dense @ v, jax.random.PRNGKey(1)))
    holds = ours.lower <= exact <= ours.upper and abs(exact - theirs) <= 3 * error
    return row(
        "log det of the same + 0.01, 95 % interval", f"NumPy's slogdet, {exact:.6g}; matfree's stochastic Lanczos quadrature, {theirs:.6g} ± {error:.2g}",
        f"{exact:.6g} in [{ours.lower:.6g}, {ours.upper:.6g}]", "inside", holds,
    )


def edge_of_stability():
    """Cohen et al. 2021: T_5 at 20 points by a tanh network, gradient descent at 0.3, so that the edge is at 6.667.

    Numbers as their gd.py of commit 5fa3ece prints them, on the CPU: `gd.py chebyshev-5-20 regression mse 0.3 2001
    --neigs 3 --eig_freq 250`. After step 1,000 the sharpness passes the edge, and all depends on the rounding of each
    step: at 2,000 the sharpest is 6.57 on one processor and 6.64 on another.
    """
    theirs = {
        0: [4.0321, 2.0610, 0.0503],
        250: [4.2879, 2.2741, 0.0409],
        500: [4.9345, 2.8103, 0.3053],
        750: [5.2612, 2.5132, 0.2961],
        1000: [6.1018, 2.8371, 0.2914],
    }
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 100), nn.Tanh(), nn.Linear(100, 1, bias=False))
    nn.init.xavier_normal_(model[0].weight, gain=1.9)
    nn.init.zeros_(model[0].bias)
    nn.init.xavier_normal_(model[2].weight)
    x = torch.linspace(-1, 1, 20)
    y = torch.from_numpy(np.polynomial.chebyshev.chebval(x.numpy(), [0, 0, 0, 0, 0, 1])).float()

    def loss():
        return 0.5 * (model(x[:, None])[:, 0] - y).square().sum() / 20

    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    worst = 0.0
    for step in range(max(theirs) + 1):
        if step in theirs:
            found = kappascope.spectrum(loss, model, top=3, tol=1e-5)
            worst = max(worst, relative(found.eigenvalues, theirs[step]))
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    what = "three sharpest directions at five steps of gradient descent, the last before the edge"
    return row(what, f"locuslab/edge-of-stability's gd.py, to four decimals; the sharpest: {', '.join(str(top[0]) for top in theirs.values())}", worst, 1e-4)


CHECKS = (
    closed_form_of_logistic_regression, closed_form_of_softmax_regression, eigenpairs_of_primme, trace, square_of_imate,
    fisher_of_nngeometry, determinant_of_matfree, edge_of_stability,
)
