// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "kappascope/store/study/comparison.h"

namespace kappascope::cli {

void print_comparisons(const std::vector<store::Comparison>& comparisons);
nlohmann::json comparisons_json(const std::vector<store::Comparison>& comparisons);

}  // namespace kappascope::cli
