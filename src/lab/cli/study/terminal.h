// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lab/study/result.h"

namespace kappascope::cli {

/// A table a metric and condition: each arm against the control.
void print_comparisons(const std::vector<study::Comparison>& comparisons);

/// The comparisons, then each claim with its verdict.
void print_result(const study::StudyResult& result);

}  // namespace kappascope::cli
