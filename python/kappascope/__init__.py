# SPDX-License-Identifier: Apache-2.0
"""Curvature of a loss built in Python, with a certificate: eigenvalues, density, trace.

    found = kappascope.spectrum(loss, model)      # loss: a scalar tensor with its graph
    print(found)                              # the values, and in words what they are worth

The mathematics runs in C++ (torch.ops.kappascope.*). Nothing is changed: neither parameters, nor
.grad, nor the model's mode, nor random states.
"""

from ._curvature import density, spectrum, trace
from ._library import Error
from ._library import version as _version
from ._losses import Outputs
from ._results import Density, Spectrum, Trace

__version__ = _version()

__all__ = ["Density", "Error", "Outputs", "Spectrum", "Trace", "density", "spectrum", "trace"]
