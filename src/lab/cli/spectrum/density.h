// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kappascope/linalg/density.h"

namespace kappascope::cli {

/// The density for a terminal: intervals of the shares, the bulk, the outliers and a picture of a
/// line. `file`: where its numbers went; empty: nowhere.
std::string density_text(const linalg::Density& density, const std::string& file);

/// Its numbers as CSV: grid,density,lower,upper,cumulative,cumulative_lower,cumulative_upper.
std::string density_csv(const linalg::Density& density);

/// What it begins with, by which the file is known to be replaceable.
inline constexpr const char* kDensityMark = "grid,density,lower,upper,cumulative";

}  // namespace kappascope::cli
