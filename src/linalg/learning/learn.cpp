// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "kappascope/core/statistics.h"
#include "linalg/learning/population.h"
#include "linalg/learning/sketch.h"

namespace kappascope::linalg {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kResolvedWithin = 2, kUsefulWithin = 100;
constexpr double kRounding = 1e-12;  // of a variance, beside the largest

/// What all rows show, and what they show without each block.
struct Populations {
  Population all, fastest, slowest;
  std::vector<Population> without;
};

TriedPart tried(const Sketch& sketch,
                const Trained& trained,
                std::size_t half,
                std::size_t left_out) {
  TriedPart part;
  part.trained = &trained;
  for (std::size_t b = 1 - half; b < sketch.block_rows.size(); b += 2) {
    if (b == left_out) continue;
    part.held.push_back(b);
    part.held_rows += sketch.block_rows[b];
  }
  return part;
}

Populations populations(const Sketch& sketch) {
  const std::size_t none = sketch.block_rows.size();
  const auto both = [&](const Trained& even,
                        const Trained& odd,
                        std::size_t left_out,
                        Population::Side side,
                        const Population* similar) {
    return Population(
        {tried(sketch, even, 0, left_out), tried(sketch, odd, 1, left_out)}, side, similar);
  };
  const auto& [even_half, odd_half] = sketch.halves;
  using Side = Population::Side;
  const auto all = both(even_half, odd_half, none, Side::kMiddle, nullptr);
  Populations result{all,
                     both(even_half, odd_half, none, Side::kFast, &all),
                     both(even_half, odd_half, none, Side::kSlow, &all),
                     {}};
  for (std::size_t b = 0; b < none; ++b) {
    const Trained& without = sketch.without[b];
    result.without.push_back(b % 2 == 0 ? both(without, sketch.halves[1], b, Side::kMiddle, &all)
                                        : both(sketch.halves[0], without, b, Side::kMiddle, &all));
  }
  return result;
}

/// Logarithms of steps of one matrix: Σ, or a rank-one update of it.
struct MatrixSteps {
  LogSteps fast;   ///< what the rows do not resolve is learned as the smallest that they do
  LogSteps slow;   ///< it is never learned
  LogSteps least;  ///< fast, with the least λmax and by the bounds that are fastest
  LogSteps most;   ///< slow, with the largest, by the slowest
  Eigen::Array3Xd fast_without, slow_without;  ///< [3, blocks]
  double resolved_to = 0;                      ///< λ/λmax
  double unresolved = 0;                       ///< share of the trace below it

  MatrixSteps(const Populations& found, int along)
      : fast_without(3, std::ssize(found.without)), slow_without(fast_without) {
    const Population& all = found.all;
    fast = all.log_steps(along, all.floor(), all.largest());
    slow = all.log_steps(along, 0, all.largest());
    least = found.fastest.log_steps(along, all.floor(), all.least_largest());
    most = found.slowest.log_steps(along, 0, all.most_largest());
    for (Eigen::Index b = 0; b < fast_without.cols(); ++b) {
      const auto& one = found.without[static_cast<std::size_t>(b)];
      fast_without.col(b) = one.log_steps(along, one.floor(), one.largest());
      slow_without.col(b) = one.log_steps(along, 0, one.largest());
    }
    resolved_to = all.floor() / all.largest();
    unresolved = all.unresolved();
  }
};

/// Jackknife over the blocks of two strata, the halves: infinite where one of the values is.
double standard_error(const Eigen::ArrayXd& without) {
  if (!without.isFinite().all()) return kInf;
  double variance = 0;
  for (const Eigen::Index half : {0, 1}) {
    const Eigen::ArrayXd own = without(Eigen::seq(half, Eigen::last, 2));
    const auto count = static_cast<double>(own.size());
    variance += (count - 1) / count * (own - own.mean()).square().sum();
  }
  return std::sqrt(variance);
}

StepsEstimate estimate(const MatrixSteps& steps, Eigen::Index share, double reach) {
  StepsEstimate result;
  const double lower = std::min(steps.fast(share), steps.least(share)) -
                       reach * standard_error(steps.fast_without.row(share));
  const double upper = std::max(steps.slow(share), steps.most(share)) +
                       reach * standard_error(steps.slow_without.row(share));
  result.lower = std::max(1.0, std::exp(lower));
  result.upper = std::isfinite(upper) ? std::exp(upper) : kInf;
  if (std::isfinite(steps.slow(share)))
    result.value = std::exp((steps.fast(share) + steps.slow(share)) / 2);
  const double wide = std::max(result.upper / result.value, result.value / result.lower);
  if (wide <= kResolvedWithin) {
    result.resolution = Resolution::kResolved;
  } else if (wide <= kUsefulWithin) {
    result.resolution = Resolution::kBiased;
    result.reason = fmt::format(
        "The rows leave a factor of {:.2g} open: more sequences would narrow it.", wide);
  } else {
    result.resolution = Resolution::kNotResolvable;
    result.reason = fmt::format(
        "The rows show the spectrum down to {:.2g} of λmax, and {:.2g} of the variance may lie "
        "below: more rows, or sequences, would show it.",
        steps.resolved_to,
        steps.unresolved);
  }
  return result;
}

LearningTime time(const MatrixSteps& steps, double reach) {
  return {estimate(steps, 0, reach), estimate(steps, 1, reach), estimate(steps, 2, reach)};
}

/// Of the steps to 90 %, errors in pairs.
PairedRatio ratio(const MatrixSteps& of, const MatrixSteps& to, double reach) {
  constexpr Eigen::Index kNinety = 1;
  const double slow = of.slow(kNinety) - to.slow(kNinety);
  const double most = of.most(kNinety) - to.most(kNinety);
  if (!std::isfinite(slow) || !std::isfinite(most)) return {};
  const double fast = of.fast(kNinety) - to.fast(kNinety);
  const double least = of.least(kNinety) - to.least(kNinety);
  const double error =
      reach * standard_error(of.fast_without.row(kNinety) - to.fast_without.row(kNinety));
  const auto [low, high] = std::minmax({fast, slow, least, most});
  return {std::exp((fast + slow) / 2), std::exp(low - error), std::exp(high + error)};
}

/// No number of steps.
LearningTimes not_learned(Resolution resolution, const std::string& reason) {
  StepsEstimate none;
  none.resolution = resolution;
  none.reason = reason;
  const LearningTime time{none, none, none};
  return {.sigma = time,
          .second_moment = time,
          .with_bias = time,
          .mean_costs = {},
          .bias_leaves = {},
          .bias_changes = {}};
}

/// Whether each half, also without one of its blocks, varies by more than the rounding of all.
bool all_parts_vary(const Sketch& sketch) {
  const auto& [even, odd] = sketch.halves;
  const double least = kRounding * std::max(even.top, odd.top);
  const auto varies = [&](const Trained& part) { return part.top > least; };
  return varies(even) && varies(odd) && std::ranges::all_of(sketch.without, varies);
}

LearningTimes learn(const Sketch& sigma,
                    const Sketch& second_moment,
                    const Sketch& with_bias,
                    double confidence) {
  for (const Sketch* sketch : {&sigma, &second_moment, &with_bias})
    if (!all_parts_vary(*sketch))
      return not_learned(Resolution::kNotResolvable,
                         "The features vary in too few of the sequences to show how far off their "
                         "numbers are.");
  std::map<const Sketch*, Populations> found;
  for (const Sketch* sketch : {&sigma, &second_moment, &with_bias})
    if (!found.contains(sketch)) found.emplace(sketch, populations(*sketch));
  const auto freedom = static_cast<double>(sigma.block_rows.size()) - 2;
  const double reach = student_quantile((1 + confidence) / 2, freedom);
  const MatrixSteps plain(found.at(&sigma), Population::kNone), raw(found.at(&second_moment), 0);
  LearningTimes result;
  result.sigma = time(plain, reach);
  result.second_moment = time(raw, reach);
  result.mean_costs = ratio(raw, plain, reach);
  result.with_bias = result.second_moment;
  result.bias_leaves = result.mean_costs;
  result.bias_changes = {1, 1, 1};
  if (with_bias.has_bias) {
    const MatrixSteps biased(found.at(&with_bias), 1);
    result.with_bias = time(biased, reach);
    result.bias_leaves = ratio(biased, plain, reach);
    result.bias_changes = ratio(biased, raw, reach);
  }
  return result;
}

std::vector<Eigen::VectorXd> scales_of(const Eigen::VectorXd& mean,
                                       const Eigen::VectorXd& variance,
                                       const Eigen::VectorXd& bias) {
  const auto inverse = [](const Eigen::VectorXd& diagonal) -> Eigen::VectorXd {
    return (diagonal.array() > 0).select(diagonal.array().rsqrt(), 0);
  };
  std::vector<Eigen::VectorXd> scales{inverse(variance), inverse(variance + mean.cwiseAbs2())};
  scales.push_back(bias.size() > 0 ? inverse(variance + (mean + bias).cwiseAbs2()) : scales.back());
  return scales;
}

}  // namespace

LearningTimes learn(const LearningOptions& options,
                    const Eigen::VectorXd& mean,
                    const Eigen::VectorXd& variance,
                    const Eigen::VectorXd& bias,
                    const std::function<Sketch(const Eigen::VectorXd& scale)>& sketch_of) {
  if (!(variance.array() > 0).any())
    return not_learned(Resolution::kDegenerate, "No feature varies.");
  if (!options.scaled) {
    const auto sketch = sketch_of(Eigen::VectorXd::Ones(mean.size()));
    return learn(sketch, sketch, sketch, options.confidence);
  }
  const auto scales = scales_of(mean, variance, bias);
  const auto sigma = sketch_of(scales[0]), second_moment = sketch_of(scales[1]);
  if (bias.size() == 0) return learn(sigma, second_moment, second_moment, options.confidence);
  return learn(sigma, second_moment, sketch_of(scales[2]), options.confidence);
}

LearningTimes too_few_groups() {
  return not_learned(Resolution::kNotResolvable,
                     "Fewer than four sequences do not show how far off their numbers are.");
}

}  // namespace kappascope::linalg
