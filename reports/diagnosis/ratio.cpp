// SPDX-License-Identifier: Apache-2.0
#include "reports/diagnosis/ratio.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kappascope/core/statistics.h"
#include "reports/runs/seeds.h"

namespace kappascope::reports {
namespace {

/// An interval has both ends.
Ratio whole(Ratio ratio) {
  if (!ratio.lower || !ratio.upper) ratio.lower = ratio.upper = std::nullopt;
  return ratio;
}

/// The median of the runs that have it. A run that has `series` of the layer and does not resolve
/// the ratio could be anywhere.
template <typename Of>
std::optional<Ratio> over_seeds(const Arm& arm, const store::SeriesKey& series, const Of& of) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Ratio> all;
  std::vector<SeedValue> seeds;
  for (const Arm* run : arm.runs) {
    if (auto ratio = of(*run)) {
      seeds.push_back({ratio->value, ratio->lower, ratio->upper});
      all.push_back(std::move(*ratio));
    } else if (!run->series(series.name, series.layer).empty()) {
      seeds.push_back({.value = kNan, .resolved = false});
    }
  }
  if (all.empty()) return std::nullopt;
  std::vector<double> values(all.size());
  std::ranges::transform(all, values.begin(), &Ratio::value);
  const auto range = range_over_seeds(seeds);
  return whole({.value = median(values),
                .lower = range.lower,
                .upper = range.upper,
                .step = std::ranges::max(all, {}, &Ratio::step).step,
                .layer = all.front().layer,
                .seeds = all.size()});
}

std::optional<Ratio> newest_ratio(const Arm& arm,
                                  const std::string& layer,
                                  const std::string& above,
                                  const std::string& below) {
  if (!arm.runs.empty())
    return over_seeds(arm, {above, layer}, [&](const Arm& run) {
      return newest_ratio(run, layer, above, below);
    });
  const Points& points = arm.series(above, layer);
  const Points& others = arm.series(below, layer);
  for (std::size_t place = points.size(); place-- > 0;) {
    const auto other = others.number_at(points.steps()[place]);
    if (!other || std::isnan(points.values()[place])) continue;
    auto ratio = ratio_of(points[place], other);
    if (ratio) ratio->layer = layer;
    return ratio;
  }
  return std::nullopt;
}

std::optional<Ratio> paired(const Arm& arm,
                            const std::string& layer,
                            const std::string& measured,
                            const std::string& above,
                            const std::string& below) {
  if (!arm.runs.empty())
    return over_seeds(arm, {above, layer}, [&](const Arm& run) {
      return paired(run, layer, measured, above, below);
    });
  auto ratio = newest_ratio(arm, layer, above, below);
  const auto point = ratio ? arm.series(measured, layer).number_at(ratio->step) : std::nullopt;
  if (!point || !std::isfinite(point->scalar.value) || !point->scalar.lower || !point->scalar.upper)
    return ratio;
  ratio->value = point->scalar.value;
  ratio->lower = point->scalar.lower;
  ratio->upper = point->scalar.upper;
  ratio->paired = true;
  return ratio;
}

/// A quotient that the run has measured itself.
std::optional<Ratio> measured(const Arm& arm, const std::string& layer, const std::string& name) {
  if (!arm.runs.empty())
    return over_seeds(arm, {id::kLearningSecondMoment, layer}, [&](const Arm& run) {
      return measured(run, layer, name);
    });
  const auto point = arm.last(name, layer);
  if (!point || !std::isfinite(point->scalar.value)) return std::nullopt;
  return whole({.value = point->scalar.value,
                .lower = point->scalar.lower,
                .upper = point->scalar.upper,
                .step = point->step,
                .layer = layer,
                .paired = true});
}

}  // namespace

bool is_negligible(const std::optional<Ratio>& ratio) {
  return side_of(ratio, kWorthwhile) == Side::kBelow &&
         side_of(ratio, 1 / kWorthwhile) == Side::kAbove;
}

Side side_of(const std::optional<Ratio>& ratio, double limit) {
  if (!ratio || !ratio->lower || !ratio->upper) return Side::kUndecided;
  return side_of(*ratio->lower, *ratio->upper, limit);
}

double sure_factor(const std::optional<Ratio>& ratio) {
  const Side side = side_of(ratio, 1);
  return side == Side::kAbove                        ? *ratio->lower
         : side == Side::kBelow && *ratio->upper > 0 ? 1 / *ratio->upper
                                                     : 1;
}

std::optional<Ratio> largest_of(const Arm& arm,
                                const std::string& prefix,
                                std::optional<Ratio> (*of)(const Arm&, const std::string&)) {
  std::optional<Ratio> largest;
  const auto size = [](const Ratio& r) { return std::pair(r.lower.value_or(0), r.value); };
  for (const auto& layer : layers_of(arm, prefix)) {
    auto ratio = of(arm, layer);
    if (ratio && (!largest || size(*ratio) > size(*largest))) largest = std::move(ratio);
  }
  return largest;
}

std::optional<Ratio> ratio_of(const std::optional<store::StepValue>& above,
                              const std::optional<store::StepValue>& below) {
  if (!above || !below) return std::nullopt;
  const store::Scalar& a = above->scalar;
  const store::Scalar& b = below->scalar;
  if (!is_resolved(a) || !is_resolved(b) || !(b.value > 0) || !std::isfinite(a.value)) {
    return std::nullopt;
  }
  Ratio ratio{.value = a.value / b.value, .step = above->step};
  const bool over_runs = a.attributes.contains(kSeedsRange) || b.attributes.contains(kSeedsRange);
  if (!over_runs && a.lower && a.upper && b.lower && b.upper && *b.lower > 0) {
    ratio.lower = *a.lower / *b.upper;
    ratio.upper = *a.upper / *b.lower;
  }
  return ratio;
}

std::optional<Ratio> mean_costs(const Arm& arm, const std::string& layer) {
  return paired(arm, layer, id::kKappaMeanCosts, id::kKappaSecondMoment, id::kKappaSigma);
}

std::optional<Ratio> bias_leaves(const Arm& arm, const std::string& layer) {
  if (!has_bias(arm, layer)) return std::nullopt;
  return paired(arm, layer, id::kKappaBiasLeaves, id::kKappaWithBias, id::kKappaSigma);
}

std::optional<Ratio> bias_changes(const Arm& arm, const std::string& layer) {
  if (!has_bias(arm, layer)) return std::nullopt;
  return newest_ratio(arm, layer, id::kKappaWithBias, id::kKappaSecondMoment);
}

std::optional<Ratio> steps_mean_costs(const Arm& arm, const std::string& layer) {
  return measured(arm, layer, id::kLearningMeanCosts);
}

std::optional<Ratio> steps_bias_leaves(const Arm& arm, const std::string& layer) {
  return measured(arm, layer, id::kLearningBiasLeaves);
}

std::optional<Ratio> steps_bias_changes(const Arm& arm, const std::string& layer) {
  return measured(arm, layer, id::kLearningBiasChanges);
}

std::optional<Ratio> variance_at(const Arm& arm, const std::string& layer, store::SeriesId choice) {
  return newest_ratio(arm, layer, choice, id::kVarianceBiasZero);
}

bool has_bias(const Arm& arm, const std::string& layer) {
  for (const auto* series : {&id::kBiasResidual, &id::kBiasNorm, &id::kLearningWithBias})
    if (!arm.series(*series, layer).empty()) return true;
  return false;
}

std::optional<Absorbed> absorbed(const Arm& arm, const std::string& layer) {
  if (!arm.runs.empty()) {
    std::optional<Absorbed> any;
    std::vector<double> shares;
    for (const Arm* run : arm.runs) {
      const auto one = absorbed(*run, layer);
      if (one && one->resolved) shares.push_back(one->share);
      if (one) any = one;
    }
    if (!shares.empty()) any = Absorbed{median(shares), true, any->step};
    return any;
  }
  const auto residual = arm.last(id::kBiasResidual, layer);
  if (!residual) return std::nullopt;
  const store::Scalar& s = residual->scalar;
  const bool open = s.lower && s.upper && !(*s.lower > 0) && !(*s.upper < 1);
  return Absorbed{1 - s.value, is_resolved(s) && !open, residual->step};
}

}  // namespace kappascope::reports
