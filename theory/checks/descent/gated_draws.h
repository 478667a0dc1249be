// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "theory/claim.h"

/// Proposition 1's inequality on random gated features φ = u⊙silu(g), u = xW_u, g = xW_g with
/// weights N(0, 1/16) and 16 inputs: how often it holds where nothing was trained. The moments are
/// those of the sample, divisor n, as a run stores them.
namespace kappascope::theory {

/// The law of the inputs, each of variance one.
enum class Inputs {
  kCentred,     ///< N(0, 1)
  kShifted,     ///< N(1, 1)
  kHeavyTailed  ///< Student's t with 5 degrees of freedom, scaled to variance one
};
const char* to_string(Inputs inputs);

struct GatedCell {
  Inputs inputs;
  int d, ratio;          ///< d features, n = ratio·d rows
  int draws, as_stated;  ///< how many draws, and in how many the statement was so
};

/// What is said of κ(Σ+μμᵀ) and κ(Σ).
using KappaRelation = std::function<bool(double second_moment, double covariance)>;
/// What is said of ‖μ‖², the eigenvalue of μμᵀ, and λmax(Σ).
using MeanRelation = std::function<bool(double squared_mean, double top)>;

/// d in {4, 16, 64}, n/d in {2, 10, 100} and the three inputs; 120 draws a cell, down to 4 in the
/// largest. O(n d²) a draw, about a second in all.
std::vector<GatedCell> gated_cells(const KappaRelation& says, std::uint64_t seed);

/// The share over all draws with its 95 % interval (Wilson). The condition gives the share at each
/// d in words, between whose classes no seed moves it: "in about half of the draws"; the witness
/// gives the counts of every cell. Outcome: measured.
Verdict check_gated_share(const KappaRelation& says, std::uint64_t seed);
/// The same for the mean and the top of the spectrum.
Verdict check_mean_share(const MeanRelation& says, std::uint64_t seed);

}  // namespace kappascope::theory
