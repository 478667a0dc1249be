// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/measured_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "kappascope/core/statistics.h"
#include "kappascope/store/run.h"

namespace kappascope::theory {
namespace {

/// Two numbers nearer than this are equal: the rounding of two ways to the same spectrum.
constexpr double kTie = 1e-9;

using Place = std::pair<std::string, std::int64_t>;  // layer, step
using Series = std::map<Place, store::Scalar>;

Series read_series(const store::RunReader& run, const std::string& name) {
  Series series;
  for (const auto& key : run.series()) {
    if (key.name != name) continue;
    for (const auto& [step, scalar] : run.scalars(key)) series[{key.layer, step}] = scalar;
  }
  return series;
}

std::string place_text(const Place& place) {
  return fmt::format("{}, step {}", place.first, place.second);
}

Verdict nothing_to_decide(const std::string& why) {
  Verdict verdict;
  verdict.route = "measured run";
  verdict.condition = why;
  return verdict;
}

Verdict lacking(const store::RunReader& run, const std::string& name) {
  return nothing_to_decide(fmt::format("the run {} holds no series {}", run.dir().string(), name));
}

struct Count {
  int yes = 0, all = 0;
  void add(bool agrees) {
    ++all;
    yes += agrees ? 1 : 0;
  }
};

/// What each (layer, step) says of the formula.
struct VarianceRatios {
  std::vector<double> formula, formula_low, formula_high, derived, independence, zero_mean;
  Count formula_inside, derived_inside;
  int unresolved = 0;
  std::set<std::string> layers;
  std::string farthest;
};

}  // namespace

Verdict check_order(const std::filesystem::path& run,
                    const std::string& larger,
                    const std::string& smaller,
                    std::optional<std::size_t> third) {
  const store::RunReader reader(run);
  const auto left = read_series(reader, larger), right = read_series(reader, smaller);
  if (left.empty()) return lacking(reader, larger);
  if (right.empty()) return lacking(reader, smaller);

  std::map<std::string, Count> layers;
  Count all;
  int unresolved = 0, biased = 0;
  Verdict verdict;
  double worst = 1;
  std::array<Count, 3> thirds;
  const auto by_step = [](const auto& at) { return at.first.second; };
  const auto last = by_step(*std::ranges::max_element(left, {}, by_step));
  const auto third_of = [&](std::int64_t step) {
    return static_cast<std::size_t>(std::min<std::int64_t>(2, 3 * step / (last + 1)));
  };
  for (const auto& [place, above] : left) {
    const auto found = right.find(place);
    if (found == right.end()) continue;
    if (third && third_of(place.second) != *third) continue;
    const auto& below = found->second;
    if (!store::usable(above) || !store::usable(below)) {
      ++unresolved;
      continue;
    }
    if (above.status == store::Status::kBiased || below.status == store::Status::kBiased) ++biased;
    const bool agrees = above.value >= below.value * (1 - kTie);
    layers[place.first].add(agrees);
    thirds[third_of(place.second)].add(agrees);
    all.add(agrees);
    const double ratio = above.value / below.value;
    if (!agrees && ratio < worst) {
      worst = ratio;
      verdict.witness =
          fmt::format("{}: {:.6g} < {:.6g}", place_text(place), above.value, below.value);
    }
  }
  if (all.all == 0) {
    return nothing_to_decide(
        fmt::format("no (layer, step) has both {} and {} resolved; {} are unresolved",
                    larger,
                    smaller,
                    unresolved));
  }

  double share = 0;
  for (const auto& [layer, count] : layers) {
    share += static_cast<double>(count.yes) / count.all / static_cast<double>(layers.size());
  }
  const auto interval = wilson(share, static_cast<double>(layers.size()));
  std::vector<std::string> by_thirds(thirds.size());
  std::ranges::transform(thirds, by_thirds.begin(), [](const auto& count) {
    return fmt::format("{} of {}", count.yes, count.all);
  });
  verdict.outcome = Outcome::kMeasured;
  verdict.route = "measured run";
  verdict.left = fmt::format("share of (layer, step) with {} >= {}", larger, smaller);
  verdict.right = "1, every pair";
  verdict.measured = share;
  verdict.predicted = 1;
  verdict.lower = interval.lower;
  verdict.upper = interval.upper;
  verdict.margin = 1 - share;
  verdict.cases = all.all;
  verdict.condition = fmt::format(
      "{} of {} pairs over {} layers ({} by thirds of training); {} more unresolved, {} of those "
      "compared are biased as estimates but exact on their sample; interval: one observation a "
      "layer",
      all.yes,
      all.all,
      layers.size(),
      fmt::join(by_thirds, ", "),
      unresolved,
      biased);
  return verdict;
}

Verdict check_gradient_variance(const std::filesystem::path& run, const std::string& formula) {
  const store::RunReader reader(run);
  const auto measured = read_series(reader, store::id::kVarianceMeasured);
  const auto stated = read_series(reader, formula);
  const auto derived = read_series(reader, store::id::kVarianceDerived);
  const auto independence = read_series(reader, store::id::kVarianceIndependence);
  const auto zero_mean = read_series(reader, store::id::kVarianceZeroMean);
  if (measured.empty()) return lacking(reader, store::id::kVarianceMeasured);
  if (stated.empty()) return lacking(reader, formula);

  VarianceRatios seen;
  double worst = -1;
  for (const auto& one : measured) {
    const auto& place = one.first;
    const auto& variance = one.second;
    const auto found = stated.find(place);
    if (found == stated.end()) continue;
    if (!store::usable(variance) || !store::usable(found->second) || !(variance.value > 0)) {
      ++seen.unresolved;
      continue;
    }
    const double low = variance.lower.value_or(variance.value);
    const double high = variance.upper.value_or(variance.value);
    const auto inside = [&](double value) { return low <= value && value <= high; };
    const double ratio = found->second.value / variance.value;
    seen.layers.insert(place.first);
    seen.formula.push_back(ratio);
    seen.formula_low.push_back(found->second.value / high);
    seen.formula_high.push_back(found->second.value / std::max(low, 0.0));
    seen.formula_inside.add(inside(found->second.value));
    const auto share = [&](const Series& series, std::vector<double>& out) {
      const auto at = series.find(place);
      if (at != series.end() && store::usable(at->second))
        out.push_back(at->second.value / variance.value);
    };
    share(independence, seen.independence);
    share(zero_mean, seen.zero_mean);
    if (const auto at = derived.find(place); at != derived.end() && store::usable(at->second)) {
      seen.derived.push_back(at->second.value / variance.value);
      seen.derived_inside.add(inside(at->second.value));
    }
    if (const double distance = std::abs(std::log(ratio)); distance > worst) {
      worst = distance;
      seen.farthest = fmt::format("{}: formula {:.6g}, measured {:.6g} [{:.6g}, {:.6g}]",
                                  place_text(place),
                                  found->second.value,
                                  variance.value,
                                  low,
                                  high);
    }
  }
  if (seen.formula.empty()) {
    return nothing_to_decide(
        fmt::format("no (layer, step) has both gradvar/measured and {} resolved; {} are unresolved",
                    formula,
                    seen.unresolved));
  }

  const auto percent = [](const std::vector<double>& shares) {
    return shares.empty() ? std::string("not stored")
                          : fmt::format("{:.3g} %", 100 * median(shares));
  };
  Verdict verdict;
  verdict.outcome = Outcome::kMeasured;
  verdict.route = "measured run";
  verdict.left = fmt::format(
      "median over (layer, step) of {} / {}", formula, store::id::kVarianceMeasured.name());
  verdict.right = "1, the formula is the variance";
  verdict.measured = median(seen.formula);
  verdict.predicted = 1;
  verdict.lower = median(seen.formula_low);
  verdict.upper = median(seen.formula_high);
  verdict.margin = std::abs(verdict.measured - 1);
  verdict.cases = seen.formula_inside.all;
  verdict.witness = seen.farthest;
  verdict.condition = fmt::format(
      "{} inside the measured 95 % interval in {} of {} pairs over {} layers ({} unresolved); "
      "{} in {} of {}, median ratio {:.4g}; medians of the measured variance: "
      "dependence of y² and r² {}, mean gradient {} (subtracted)",
      formula,
      seen.formula_inside.yes,
      seen.formula_inside.all,
      seen.layers.size(),
      seen.unresolved,
      store::id::kVarianceDerived.name(),
      seen.derived_inside.yes,
      seen.derived_inside.all,
      median(seen.derived),
      percent(seen.independence),
      percent(seen.zero_mean));
  return verdict;
}

}  // namespace kappascope::theory
