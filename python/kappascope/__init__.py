# SPDX-License-Identifier: Apache-2.0
"""Curvature of a loss built in Python, and conditioning of features, each with a certificate.

    found = kappascope.spectrum(loss, model)      # loss: a scalar tensor with its graph
    print(found)                              # the values, and in words what they are worth
    kappascope.hessian(loss, model) @ v       # a matrix: products, systems, diagonal, SciPy
    kappascope.critical_step(loss, model, before)  # how much longer the last step could have been
    kappascope.learning(features, bias)       # steps until a layer with features [n, d] has learned
    kappascope.kappa(features, bias)          # condition numbers of the same, with intervals
    scope = kappascope.attach(model, optimizer, run="runs/mine")   # watch a training loop

The mathematics runs in C++ (torch.ops.kappascope.*). Nothing is changed: neither parameters, nor
.grad, nor the model's mode, nor random states.
"""

import importlib
from typing import Any

from ._critical import CriticalStep, critical_step
from ._curvature import density, spectrum, trace
from ._features import Conditioning, Kappa, SpectralEstimate, kappa
from ._learning import Learning, LearningTime, Ratio, Steps, learning
from ._library import Error
from ._library import version as _version
from ._losses import Outputs
from ._operator import Curvature, Diagonal, LogDeterminant, Solution, curvature, hessian
from ._results import Density, RitzValue, Spectrum, Trace
from ._watch.alarms import Alarm
from ._watch.attach import attach
from ._watch.bias import (
    add_centering,
    add_output_bias,
    add_post_gating_bias,
    fold_post_gating_bias,
)
from ._watch.runs import Advice, DamageWarning, Run, Series, advise, read, report
from ._watch.scope import Scope

__version__ = _version()


def __getattr__(name: str) -> Any:
    # Imported when it is asked for: it imports transformers.
    if name == "integrations":
        return importlib.import_module(".integrations", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Advice",
    "Alarm",
    "Conditioning",
    "CriticalStep",
    "Curvature",
    "DamageWarning",
    "Density",
    "Diagonal",
    "Error",
    "Kappa",
    "Learning",
    "LearningTime",
    "LogDeterminant",
    "Outputs",
    "Ratio",
    "RitzValue",
    "Run",
    "Scope",
    "Series",
    "Solution",
    "SpectralEstimate",
    "Spectrum",
    "Steps",
    "Trace",
    "add_centering",
    "add_output_bias",
    "add_post_gating_bias",
    "advise",
    "attach",
    "critical_step",
    "curvature",
    "density",
    "fold_post_gating_bias",
    "hessian",
    "kappa",
    "learning",
    "read",
    "report",
    "spectrum",
    "trace",
]
