# SPDX-License-Identifier: Apache-2.0
"""The numbers of kappascope beside those of programs and closed forms that nobody here wrote, on bundled data sets.

    ./quickstart validate        # writes docs/VALIDATION.md, which the site shows

The exit status is 1 where a row does not hold.
"""

import sys
from importlib import metadata
from pathlib import Path

import kappascope
import numpy as np
import primme
import torch
from nngeometry.layercollection import LayerCollection
from nngeometry.metrics import FIM
from nngeometry.object import PMatDense
from sklearn import datasets
from sklearn.covariance import EmpiricalCovariance, LedoitWolf
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from statsmodels.datasets import longley
from torch.nn import functional as F

SETS = ("iris", "wine", "diabetes", "breast_cancer")


def rows_of(name):
    found = getattr(datasets, f"load_{name}")()
    return found.data.astype(float), found.target


def relative(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return float(np.max(np.abs(a - b)) / np.max(np.abs(b)))


def row(what, truth, difference, limit, holds=None):
    holds = difference <= limit if holds is None else holds
    said = difference if isinstance(difference, str) else f"{difference:.1e}"
    wanted = limit if isinstance(limit, str) else f"{limit:.0e}"
    return f"| {what} | {truth} | {said} | {wanted} | {'yes' if holds else 'NO'} |", holds


def worst_kappa(estimator, ours):
    """Largest difference over all sets from the condition number of scikit-learn's covariance."""
    worst = 0.0
    for name in SETS:
        x, _ = rows_of(name)
        truth = np.linalg.cond(estimator.fit(x).covariance_)
        worst = max(worst, relative(ours(kappascope.kappa(torch.from_numpy(x)).sigma), truth))
    return worst


def covariances():
    worst = worst_kappa(EmpiricalCovariance(), lambda sigma: sigma.value)
    sets = f"{', '.join(SETS[:-1])} and {SETS[-1]}"
    return row(f"κ(Σ) of {sets}", "scikit-learn's EmpiricalCovariance, NumPy's cond", worst, 1e-8)


def shrinkage():
    """scikit-learn shrinks towards the mean variance with the same weight (Ledoit and Wolf 2004)."""
    worst = worst_kappa(LedoitWolf(), lambda sigma: sigma.shrunk)
    return row("κ of the shrunk Σ of the same", "scikit-learn's LedoitWolf", worst, 1e-8)


def collinear():
    """κ(Σ+μμᵀ) is the square of the design's condition number. 2e11 times the rounding of a double is 5e-5."""
    x = longley.load().exog.to_numpy(float)
    found = kappascope.kappa(torch.from_numpy(x)).second_moment.value
    return row("κ(Σ+μμᵀ) of Longley's regressors", "the square of NumPy's cond of the design", relative(found, np.linalg.cond(x) ** 2), 1e-4)


def too_collinear():
    x = longley.load().exog.to_numpy(float)
    x = np.column_stack([np.ones(len(x)), x])
    found = kappascope.kappa(torch.from_numpy(x)).second_moment
    return row(
        "the same with an intercept: its square, 2.4e19, is beyond double precision",
        "statsmodels' 4859257015, squared",
        f"{found.status}: {found.reason.partition(';')[0]}" if found.reason else found.status,
        "not resolved",
        found.status != "resolved",
    )


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


def trace_and_density():
    model, x, y = network()
    parameters = list(model.parameters())

    def loss():
        return F.cross_entropy(model(x), y)

    columns = []
    gradient = torch.cat([g.flatten() for g in torch.autograd.grad(loss(), parameters, create_graph=True)])
    for entry in gradient:
        columns.append(torch.cat([g.flatten() for g in torch.autograd.grad(entry, parameters, retain_graph=True)]))
    exact = float(torch.stack(columns).trace())
    found = kappascope.trace(loss, model)
    inside = found.lower <= exact <= found.upper
    return row("trace of the same, 95 % interval", "sum of the diagonal, by PyTorch row by row", f"{exact:.5g} in [{found.lower:.5g}, {found.upper:.5g}]", "inside", inside)


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


CHECKS = (
    covariances, shrinkage, collinear, too_collinear, closed_form_of_logistic_regression, closed_form_of_softmax_regression,
    eigenpairs_of_primme, trace_and_density, fisher_of_nngeometry,
)


def main() -> int:
    torch.set_num_threads(1)
    lines = ["| number | compared with | largest relative difference | wanted | holds |", "|---|---|---|---|---|"]
    held = True
    for check in CHECKS:
        line, holds = check()
        held = held and holds
        print(line, flush=True)
        lines.append(line)
    packages = ("scikit-learn", "statsmodels", "primme", "nngeometry", "torch")
    versions = [f"{name} {metadata.version(name)}" for name in packages]
    lines += ["", f"{', '.join(versions)}, kappascope {kappascope.__version__}; printed by `./quickstart validate`."]
    Path(sys.argv[1]).write_text("\n".join(lines) + "\n")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
