// SPDX-License-Identifier: Apache-2.0
// The rows of the schema, part by part, in the order in which the documentation prints them.
#pragma once

#include <vector>

#include "kappascope/store/schema/schema.h"

namespace kappascope::store {

std::vector<SeriesInfo> rows_of_runs();     ///< what training and its probes write
std::vector<SeriesInfo> rows_of_spectra();  ///< what `kappascope spectrum` writes

}  // namespace kappascope::store
