# SPDX-License-Identifier: Apache-2.0
"""Of features: condition numbers, their size, and the noise of the gradient of a down-projection."""

import copy
import tempfile

import kappascope
import numpy as np
import torch
from gns_pytorch import compute_gns
from mup.coord_check import get_coord_data
from sklearn.covariance import EmpiricalCovariance, LedoitWolf
from statsmodels.api import OLS
from statsmodels.datasets import longley
from torch import nn
from torch.nn import functional as F

from rows import relative, row, rows_of

SETS = ("iris", "wine", "diabetes", "breast_cancer")


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


def longley_with_intercept():
    x = longley.load().exog.to_numpy(float)
    return np.column_stack([np.ones(len(x)), x])


def too_collinear():
    found = kappascope.kappa(torch.from_numpy(longley_with_intercept())).second_moment
    return row(
        "the same with an intercept: its square, 2.4e19, is beyond a covariance in double",
        "statsmodels' 4859257015, squared",
        f"{found.status}: {found.reason.partition(';')[0]}" if found.reason else found.status,
        "not resolved",
        found.status != "resolved",
    )


def collinear_by_qr():
    """4859257015.45 times the rounding of a double is 1e-6, and twice that for the square."""
    x = longley_with_intercept()
    found = kappascope.kappa(torch.from_numpy(x), method="qr").second_moment
    exact = OLS(longley.load().endog.to_numpy(float), x).fit().condition_number
    return row("the same from the rows, `method=\"qr\"`", f"statsmodels' condition number {exact:.12g}, squared", relative(found.value, exact**2), 1e-5)


class OneLayer(nn.Module):
    """A gated layer of which only the down-projection is trained, so that its gradient is the model's."""

    def __init__(self, width=24):
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(8, width, bias=False).requires_grad_(False) for _ in range(2))
        self.down_proj = nn.Linear(width, 5, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


def noise_scale_of_gns():
    torch.manual_seed(3)
    model, x, y = OneLayer(), torch.randn(64, 8) + 1, torch.randint(0, 5, (64,)).clamp(max=1)
    other = copy.deepcopy(model)
    losses = F.cross_entropy(other(x), y, reduction="none")
    other.gate_proj = other.up_proj = None
    theirs = compute_gns(losses, other, param_percentage=1.0, batch_percentage=1.0)
    with tempfile.TemporaryDirectory() as folder:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with kappascope.attach(model, optimizer, f"{folder}/run", every=1, window=1, budget=0):
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        ours = kappascope.read(f"{folder}/run").series("gradvar/critical_batch")[0].value[0]
    return row("critical batch of a down-projection", "gns-pytorch's noise scale of the same 64 rows", relative(ours, theirs), 1e-4)


def coordinates_of_mup():
    """The mean square of the features, which is tr Σ / d + ‖μ‖² / d, at three steps of SGD for three widths."""
    torch.manual_seed(5)
    x, y = torch.randn(64, 8) + 1, torch.randint(0, 5, (64,))
    made = {width: OneLayer(width) for width in (24, 96, 384)}
    for model in made.values():
        for weight in model.parameters():
            weight.requires_grad_()
    found = get_coord_data(
        {width: lambda model=model: copy.deepcopy(model) for width, model in made.items()}, [(x, y)], mup=False, cuda=False,
        input_fdict={"square": lambda x: x.double().square().mean()}, output_fdict={}, show_progress=False,
    )
    worst = 0.0
    for width, model in made.items():
        theirs = found[(found.width == width) & (found.module == "down_proj:in[0]")].sort_values("t").square
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        with tempfile.TemporaryDirectory() as folder:
            with kappascope.attach(model, optimizer, f"{folder}/run", every=1, window=1, budget=0):
                for _ in theirs:
                    optimizer.zero_grad()
                    F.cross_entropy(model(x), y).backward()
                    optimizer.step()
            run = kappascope.read(f"{folder}/run")
            variance, mean = (run.series(f"features/{name}")[0].value for name in ("average_variance", "mean_squared"))
        ours = np.asarray(variance) + np.asarray(mean) / width
        worst = max(worst, relative(ours, theirs))
    return row("mean square of the features, three widths and steps", "mup's coordinate check", worst, 1e-6)


CHECKS = (covariances, shrinkage, collinear, too_collinear, collinear_by_qr, noise_scale_of_gns, coordinates_of_mup)
