// SPDX-License-Identifier: Apache-2.0
// One sample matrix to one estimate: the table and the interval of kappa.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/names.h"
#include "linalg/features/conditioning.h"
#include "linalg/features/shrinkage.h"

namespace kappascope::linalg {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kResolvedFactor = 2;
constexpr double kBiasedFactor = 100;

/// How far rounding of the rows, of their sums and of the solver lets the ends be from their
/// values.
struct Ends {
  double least_top = 0, most_top = 0, least_bottom = 0, most_bottom = 0;
};

Ends ends_before_rounding(const KappaFacts& facts) {
  const auto share_of = [&](double value) {
    return Rounding{facts.share.rows * value, facts.share.sums * value};
  };
  const double top = facts.lambda_max, bottom = facts.smallest_positive;
  const double solver = facts.solver_rounding + facts.lambda_min_bound;
  return {
      .least_top = std::max(at_least(top, facts.at_top), at_least(top, share_of(top))) -
                   facts.lambda_max_bound,
      .most_top = at_most(top, facts.at_top) + facts.lambda_max_bound,
      .least_bottom = at_least(bottom, share_of(bottom)) - solver,
      .most_bottom =
          std::min(at_most(bottom, facts.at_bottom), at_most(bottom, share_of(bottom))) + solver};
}

/// Lower and upper end for the kappa on the range of the matrix.
void set_interval(const KappaFacts& facts,
                  const RowTails& tails,
                  double confidence,
                  KappaEstimate& estimate) {
  // Either end spends half of 1 - confidence, on two bounds of which both must hold.
  const double failure = (1 - confidence) / 4;
  const double support = static_cast<double>(facts.dimension - facts.null_dimension);
  const SamplingBounds bounds =
      sharpened_bounds(tails, facts.n_effective, support, facts.trace / facts.lambda_max, failure);
  const double scaling = facts.diagonal_scaled
                             ? feature_variance_factor(tails, facts.n_effective, support, failure) *
                                   at_most(1, facts.at_top) / at_least(1, facts.at_top)
                             : 1;
  const Ends ends = ends_before_rounding(facts);
  estimate.lower =
      std::max(1.0, ends.least_top / ends.most_bottom * bounds.bottom / bounds.top / scaling);
  if (!(bounds.along_low > 0 && ends.least_bottom > 0)) {
    estimate.upper = kInfinity;
    return;
  }
  // A heavy feature may make an end of its own, far from where the sample has it.
  const DiagonalRange heavy = facts.diagonal_scaled ? DiagonalRange{0, kInfinity}
                                                    : heavy_diagonal(tails, facts.update, failure);
  const double top = ends.most_top / bounds.along_low;
  const double bottom = ends.least_bottom / bounds.along_high;
  estimate.upper = std::max(top, heavy.largest) / std::min(bottom, heavy.smallest) * scaling;
}

/// Whether some directions are called null that rows as coarse as these, or sums of theirs in
/// float, do not tell from small ones.
bool null_by_rounding(const KappaFacts& facts) {
  return facts.null_dimension > facts.constant_directions &&
         facts.at_top.rows + facts.at_top.sums > facts.solver_rounding;
}

std::string rows_for_features(const KappaFacts& facts) {
  return fmt::format("{:.0f} effective rows for {} features", facts.n_effective, facts.dimension);
}

}  // namespace

const char* to_string(Resolution resolution) {
  return name_in<Resolution::kDegenerate>(
      std::array{"resolved", "biased", "not_resolvable", "degenerate"}, resolution);
}

const char* to_string(Route route) {
  return name_in<Route::kSingularValues>(
      std::array{"decomposition", "factorisation", "singular values"}, route);
}

Resolution resolution_of(double factor) {
  if (factor <= kResolvedFactor) return Resolution::kResolved;
  return factor <= kBiasedFactor ? Resolution::kBiased : Resolution::kNotResolvable;
}

KappaEstimate kappa_estimate(const KappaFacts& facts, const RowTails& tails, double confidence) {
  KappaEstimate estimate;
  estimate.value = estimate.shrunk = estimate.on_range = kNaN;
  estimate.upper = kInfinity;
  estimate.n_effective = facts.n_effective;
  estimate.lambda_min = facts.lambda_min;
  estimate.lambda_max = facts.lambda_max;
  estimate.lambda_min_bound = facts.lambda_min_bound;
  estimate.lambda_max_bound = facts.lambda_max_bound;
  estimate.null_dimension = facts.null_dimension;
  estimate.null_threshold = facts.null_threshold;
  if (facts.dimension == 0) {
    estimate.reason = "there are no features";
    return estimate;
  }
  if (facts.n < 2) {
    estimate.reason = facts.n == 0 ? "no row was seen" : "a single row has no covariance";
    return estimate;
  }
  if (!std::isfinite(facts.trace) || !std::isfinite(facts.frobenius_squared)) {
    estimate.reason = "the moments are not finite";
    return estimate;
  }
  const bool hidden = null_by_rounding(facts);
  if (facts.null_dimension == facts.dimension) {
    estimate.reason = hidden ? "no feature varies by more than its rounding"
                             : "the matrix is zero: no feature varies";
    if (hidden) estimate.resolution = Resolution::kNotResolvable;
    return estimate;
  }

  estimate.on_range = facts.lambda_max / facts.smallest_positive;
  estimate.value = facts.null_dimension > 0 ? kInfinity : estimate.on_range;
  estimate.shrunk = shrunk_kappa({.dimension = facts.dimension,
                                  .n_effective = facts.n_effective,
                                  .trace = facts.trace,
                                  .frobenius_squared = facts.frobenius_squared,
                                  .fourth = facts.fourth},
                                 facts.lambda_min,
                                 facts.lambda_max);
  if (!facts.converged) {
    estimate.resolution = Resolution::kNotResolvable;
    estimate.reason = std::isinf(facts.share.rows)
                          ? "rounding hides the small eigenvalues: the matrix is indefinite"
                          : "the ends of the spectrum did not converge";
    return estimate;
  }
  if (facts.dimension == 1) {
    estimate.upper = 1;
    estimate.resolution = Resolution::kResolved;
    return estimate;
  }
  const Eigen::Index support = facts.dimension - facts.null_dimension;
  const bool too_few = facts.n_effective <= static_cast<double>(support) + 1 ||
                       (facts.null_dimension > 0 && facts.n <= facts.dimension);
  if (too_few) {
    estimate.resolution = Resolution::kNotResolvable;
    estimate.reason = rows_for_features(facts) +
                      ": the sample matrix is singular or nearly so, "
                      "whatever the truth is";
    return estimate;
  }
  if (support == 1) {
    estimate.upper = 1;
  } else {
    set_interval(facts, tails, confidence, estimate);
  }
  if (facts.null_dimension > 0) {
    estimate.upper = kInfinity;
    if (hidden) estimate.resolution = Resolution::kNotResolvable;
    estimate.reason =
        fmt::format("{} of {} directions are {} (eigenvalue at most {:.2g})",
                    facts.null_dimension,
                    facts.dimension,
                    hidden ? "hidden by the rounding of the rows or of their sums" : "null",
                    facts.null_threshold);
    return estimate;
  }
  const double factor = std::max(estimate.value / estimate.lower, estimate.upper / estimate.value);
  estimate.resolution = resolution_of(factor);
  if (estimate.resolution == Resolution::kResolved) return estimate;
  const bool by_precision = ends_before_rounding(facts).least_bottom < facts.smallest_positive / 2;
  estimate.reason =
      by_precision
          ? fmt::format("the smallest eigenvalue, {:.2g}, is within rounding of zero",
                        facts.lambda_min)
          : fmt::format("{}: the sampling factor is {:.3g}", rows_for_features(facts), factor);
  return estimate;
}

}  // namespace kappascope::linalg
