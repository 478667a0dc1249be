// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "linalg/density_sample.h"

namespace kappascope::linalg {

/// The bulk of a density and what lies outside it; `share`: DensityOptions::outlier_gap.
void add_outliers(const Sample& sample, double share, Density& result);

}  // namespace kappascope::linalg
