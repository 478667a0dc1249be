// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "kappascope/store/run_reader.h"
#include "lab/cli/spectrum/result.h"

namespace kappascope::cli {

/// Of every vector, in the order of the values.
std::vector<Shares> all_shares(const curvature::Eigenpairs& pairs,
                               const curvature::NamedParameters& parameters);
/// The three largest: "head.weight 61 %, blocks.0.up_proj.weight 20 %, ...".
std::string text(const Shares& shares);

/// The newest learning rate that the run stored before this step; NaN for none.
double learning_rate_at(const store::RunReader& run, int64_t step);

/// Prints what the eigenvalues are worth, in words.
void print_certificate(const SpectrumResult& result);

}  // namespace kappascope::cli
