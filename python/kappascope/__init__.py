# SPDX-License-Identifier: Apache-2.0
"""Curvature of a loss built in Python, and conditioning of features, each with a certificate.

    found = kappascope.spectrum(loss, model)      # loss: a scalar tensor with its graph
    print(found)                              # the values, and in words what they are worth
    kappascope.kappa(features, bias)          # condition numbers of features [n, d], with intervals

The mathematics runs in C++ (torch.ops.kappascope.*). Nothing is changed: neither parameters, nor
.grad, nor the model's mode, nor random states.
"""

from ._curvature import density, spectrum, trace
from ._features import Conditioning, Kappa, kappa
from ._library import Error
from ._library import version as _version
from ._losses import Outputs
from ._results import Density, RitzValue, Spectrum, Trace

__version__ = _version()

__all__ = [
    "Conditioning",
    "Density",
    "Error",
    "Kappa",
    "Outputs",
    "RitzValue",
    "Spectrum",
    "Trace",
    "density",
    "kappa",
    "spectrum",
    "trace",
]
