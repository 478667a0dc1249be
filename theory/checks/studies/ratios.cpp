// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/studies/ratios.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "kappascope/core/statistics.h"
#include "theory/checks/studies/judging.h"

namespace kappascope::theory {
namespace {

Verdict undecided(const std::string& why) {
  Verdict verdict;
  verdict.route = "study";
  verdict.condition = why;
  return verdict;
}

std::vector<double> values_of(const StudyRuns& study,
                              const std::string& arm,
                              const std::string& metric) {
  std::vector<double> values;
  for (const auto& run : study.runs) {
    const auto found = run.values.find(metric);
    if (run.arm == arm && run.state != "failed" && found != run.values.end() &&
        std::isfinite(found->second.value))
      values.push_back(found->second.value);
  }
  return values;
}

/// The largest ratio of variances below 1 that so many runs find at this level: bisection, because
/// its p grows with the ratio up to 1.
double largest_ratio_found(std::size_t arm, std::size_t control, double level) {
  const auto p_of = [&](double ratio) {
    std::vector<double> a(arm), b(control);
    for (std::size_t i = 0; i < arm; ++i) a[i] = static_cast<double>(i);
    for (std::size_t i = 0; i < control; ++i) b[i] = static_cast<double>(i);
    const double factor = std::sqrt(ratio / variance_ratio(a, b).ratio);
    for (double& value : a) value *= factor;
    return variance_ratio(a, b).p;
  };
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (p_of(middle) < level ? low : high) = middle;
  }
  return low;
}

/// In each arm, to find a ratio of variances at kLevel in four studies of five: log F of normal
/// values has the variance 4/(n - 1), nearly.
std::int64_t runs_needed(double ratio) {
  const double reach =
      (normal_quantile(1 - study::kLevel / 2) + normal_quantile(0.8)) / std::log(ratio);
  return 1 + static_cast<std::int64_t>(std::ceil(4 * reach * reach));
}

/// Runs of one seed are one cluster.
ClusteredShare share_of(const std::map<std::string, double>& hits,
                        const std::map<std::string, double>& cases) {
  std::vector<double> have, of;
  for (const auto& [seed, number] : cases) {
    have.push_back(hits.at(seed));
    of.push_back(number);
  }
  return clustered_share(have, of);
}

}  // namespace

Verdict check_ratio(const StudyRuns& study,
                    const Contrast& contrast,
                    double published,
                    const std::vector<Contrast>& beside) {
  const auto as_ratio = [](Contrast asked) {
    asked.ratio = true;
    return asked;
  };
  const auto pairs = compare_arms(study, as_ratio(contrast));
  if (!pairs.lacking.empty()) return undecided(pairs.lacking);
  const auto& first = pairs.comparisons.front();
  const auto& d = first.difference;
  if (d.pairs < 2) return undecided("too few pairs of usable values of " + contrast.metric);
  Verdict verdict;
  verdict.outcome = Outcome::kMeasured;
  verdict.route = "study";
  verdict.left = fmt::format("{} of {} over {}", contrast.metric, contrast.arm, contrast.control);
  verdict.right = "the document";
  verdict.measured = std::exp(d.mean);
  std::string interval = " in every pair";
  if (!d.is_same_in_all()) {
    verdict.lower = std::exp(d.lower);
    verdict.upper = std::exp(d.upper);
    interval = fmt::format(" [{:.4g}, {:.4g}]", *verdict.lower, *verdict.upper);
  }
  verdict.predicted = published;
  verdict.margin = std::abs(verdict.measured - published);
  verdict.cases = d.pairs;
  verdict.condition = fmt::format(
      "{:.4g} times{} from a median of {:.4g}, {} pairs{}; the document "
      "has {:.4g}",
      verdict.measured,
      interval,
      std::exp(first.control_median),
      d.pairs,
      d.left_out > 0 ? fmt::format(" ({} left out)", d.left_out) : "",
      published);
  for (const auto& other : beside) {
    const auto found = compare_arms(study, as_ratio(other));
    if (!found.lacking.empty()) continue;
    const auto& ratio = found.comparisons.front().difference;
    verdict.condition += fmt::format(
        "; beside it: {} over {} {:.4g} times", other.arm, other.control, std::exp(ratio.mean));
    if (!std::isnan(ratio.lower))
      verdict.condition +=
          fmt::format(" [{:.4g}, {:.4g}]", std::exp(ratio.lower), std::exp(ratio.upper));
  }
  return verdict;
}

Verdict check_less_spread(const StudyRuns& study, const Contrast& contrast, double published) {
  const auto arm = values_of(study, contrast.arm, contrast.metric);
  const auto control = values_of(study, contrast.control, contrast.metric);
  if (arm.size() < 2 || control.size() < 2) {
    return undecided(fmt::format("{} has fewer than two usable values of {} of '{}' or '{}'",
                                 study.name,
                                 contrast.metric,
                                 contrast.arm,
                                 contrast.control));
  }
  const auto found = variance_ratio(arm, control);
  if (!std::isfinite(found.ratio) || found.ratio == 0)
    return undecided("the runs of the arm or of its control do not differ");
  const double p = found.p;
  Verdict verdict;
  verdict.route = "study";
  verdict.left = fmt::format(
      "variance over seeds of {}, {} over {}", contrast.metric, contrast.arm, contrast.control);
  verdict.right = "the document";
  verdict.measured = found.ratio;
  verdict.lower = found.lower;
  verdict.upper = found.upper;
  verdict.predicted = published;
  verdict.margin = std::abs(verdict.measured - published);
  verdict.cases = static_cast<std::int64_t>(arm.size() + control.size());
  verdict.p = p;
  const auto numbers =
      fmt::format("{:.3g} [{:.3g}, {:.3g}], {} and {} runs, p {:.2g}; the document has {:.3g}",
                  verdict.measured,
                  *verdict.lower,
                  *verdict.upper,
                  arm.size(),
                  control.size(),
                  p,
                  published);
  if (p < study::kLevel && found.ratio < 1) {
    verdict.outcome = Outcome::kHoldsUnder;
    verdict.condition = numbers;
  } else if (p < study::kLevel) {
    verdict.outcome = Outcome::kRefuted;
    verdict.witness = verdict.condition = numbers;
  } else {
    verdict.outcome = Outcome::kTooFewRuns;
    verdict.condition = fmt::format(
        "a ratio of {:.2g} or less would have been seen, and about {} runs an arm find the "
        "document's in four studies of five: {}",
        largest_ratio_found(arm.size(), control.size(), study::kLevel),
        runs_needed(published),
        numbers);
  }
  return verdict;
}

Verdict check_each_run(const StudyRuns& study,
                       const std::string& arm,
                       EachRun kind,
                       const std::function<Verdict(const CheckContext&)>& check) {
  std::map<std::string, std::vector<double>> by_seed, by_condition;
  std::map<std::string, double> hits, cases;  // of shares, by seed
  std::vector<double> measured;
  double farthest = -1;
  Verdict verdict;
  std::string why;
  int without = 0;
  for (const auto& run : study.runs) {
    if (run.arm != arm) continue;
    const auto found = check({.run = run.dir});
    if (found.outcome == Outcome::kUndecided) {
      ++without;
      why = found.condition;
      continue;
    }
    verdict.left = found.left;
    verdict.right = found.right;
    verdict.predicted = found.predicted;
    verdict.cases += found.cases;
    by_seed[run.seed].push_back(found.measured);
    cases[run.seed] += static_cast<double>(found.cases);
    hits[run.seed] += found.measured * static_cast<double>(found.cases);
    by_condition[run.condition].push_back(found.measured);
    if (!found.witness.empty() && std::abs(found.measured - found.predicted) > farthest) {
      farthest = std::abs(found.measured - found.predicted);
      verdict.witness = fmt::format("{}, seed {}: {}",
                                    run.condition.empty() ? arm : arm + ", " + run.condition,
                                    run.seed,
                                    found.witness);
    }
    measured.push_back(found.measured);
  }
  if (measured.empty()) {
    return undecided(without == 0 ? fmt::format("{} has no arm '{}'", study.name, arm) : why);
  }
  // Runs of one seed share their weights at the start and their data: one observation.
  std::vector<double> means, none;
  means.reserve(by_seed.size());
  for (const auto& [seed, values] : by_seed) {
    double sum = 0;
    for (const double v : values) sum += v;
    means.push_back(sum / static_cast<double>(values.size()));
  }
  none.resize(means.size(), 0.0);
  const auto mean = paired_difference(means, none);
  verdict.outcome = Outcome::kMeasured;
  verdict.route = "study";
  verdict.measured = mean.mean;
  if (kind == EachRun::kShare) {
    const auto share = share_of(hits, cases);
    verdict.measured = share.share;
    verdict.lower = share.interval.lower;
    verdict.upper = share.interval.upper;
  } else if (mean.pairs >= 2 && !mean.is_same_in_all()) {
    verdict.lower = mean.lower;
    verdict.upper = mean.upper;
  }
  verdict.margin = std::abs(verdict.measured - verdict.predicted);
  const auto [low, high] = std::ranges::minmax(measured);
  verdict.condition = fmt::format(
      "arm {}: {:.4g}{}; {:.4g} to {:.4g} over {} runs of {} seeds",
      arm,
      verdict.measured,
      verdict.lower ? fmt::format(" [{:.4g}, {:.4g}]", *verdict.lower, *verdict.upper) : "",
      low,
      high,
      measured.size(),
      by_seed.size());
  if (by_condition.size() > 1) {
    for (const auto& [condition, values] : by_condition) {
      const auto [least, most] = std::ranges::minmax(values);
      verdict.condition += fmt::format(
          "; {}: median {:.4g}, {:.4g} to {:.4g}", condition, median(values), least, most);
    }
  }
  if (without > 0) verdict.condition += fmt::format("; {} runs without it ({})", without, why);
  return verdict;
}

}  // namespace kappascope::theory
