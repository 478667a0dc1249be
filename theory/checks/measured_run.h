// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "theory/claim.h"

/// Statements decided on what a training run stored. A run without the series that a check needs
/// gives "undecided" with the name of the series; an unreadable run throws kappascope::Error.
namespace kappascope::theory {

/// In what share of (layer, step) pairs is series `larger` >= series `smaller`? Both are computed
/// on the same sample, so each comparison is exact on it. Pairs in which either is "degenerate" or
/// "not_resolvable", or not a number, are counted apart. Snapshots of one layer depend on each
/// other: the interval is Wilson's with one observation a layer, each weighing the same. With
/// `third`, 0 to 2, of that third of training alone.
Verdict check_order(const std::filesystem::path& run,
                    const std::string& larger,
                    const std::string& smaller,
                    std::optional<std::size_t> third = {});

/// How near `formula` (as published) comes to the measured variance of the gradient: the median
/// over layers and steps of their ratio, with the medians of the ratio at the two ends of the
/// measured intervals (snapshots depend on each other, so their number does not narrow it). The
/// condition says how often the formula and "gradvar/derived" lie within the measured interval, and
/// what the assumptions cost: "gradvar/independence" = Cov(y², r²) and "gradvar/zero_mean" =
/// (E[yr])², which is subtracted, as shares of the measured variance.
Verdict check_gradient_variance(const std::filesystem::path& run, const std::string& formula);

}  // namespace kappascope::theory
