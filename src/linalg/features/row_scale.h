// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kappascope/linalg/features/kappa.h"

namespace kappascope::linalg {

/// The power of two by which rows are multiplied before their moments are taken, given the largest
/// magnitude among them. It is 1 within 2^-30 and 2^30; beyond, squares in float would begin to
/// vanish or overflow, and from about 1e-154 and 1e154 on those in double. A condition number does
/// not depend on it.
double row_scale(double largest);

/// The conditioning of rows from that of `scale` · rows: eigenvalues and variances are divided by
/// scale², and read 0 or infinity where a double cannot hold them.
Conditioning unscale(Conditioning result, double scale);

}  // namespace kappascope::linalg
