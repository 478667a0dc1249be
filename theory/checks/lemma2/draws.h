// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "theory/checks/lemma2/variance.h"

namespace kappascope::theory {

/// Lemma 2 by Monte Carlo: the second route beside the exact enumeration, through draws of y and r
/// as a training would see them. Of each law 100,000 draws at b in {0, 1, -pμ}; the sample variance
/// of g has the standard error √((m₄ - v²)/n), m₄ and v exact. A formula that lies more than 6.5
/// standard errors away from it is refuted: a false alarm below 1e-10 a comparison in the normal
/// limit, below 1e-6 for all comparisons together. A law in which g does not vary is left out.
Verdict check_variance_by_draws(const VarianceFormula& formula,
                                Dropout dropout,
                                const std::vector<FiniteLaw>& laws,
                                std::uint64_t seed);

}  // namespace kappascope::theory
