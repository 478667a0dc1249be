// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/studies/judging.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace kappascope::theory {

namespace {

/// The numbers of the same trainings under another condition, as where a grid changes only how they
/// are attacked: no further evidence.
bool repeats(const ContrastResult& earlier, const study::Comparison& found) {
  const auto& a = earlier.difference();
  const auto& b = found.difference;
  return earlier.found.metric == found.metric && earlier.found.arm == found.arm &&
         earlier.found.control == found.control && a.pairs == b.pairs && a.mean == b.mean &&
         a.lower == b.lower && a.upper == b.upper && earlier.found.arm_median == found.arm_median &&
         earlier.found.control_median == found.control_median;
}

/// A one-sided p that is doubled; 1 where it is not known.
double doubled(double p) {
  return std::isnan(p) ? 1 : std::min(1.0, 2 * p);
}

}  // namespace

ArmPairs compare_arms(const StudyRuns& study, const Contrast& contrast) {
  StudyRuns two{study.name, {}};
  for (const auto& run : study.runs) {
    const bool asked = run.arm == contrast.arm || run.arm == contrast.control;
    if (asked && run.condition.find(contrast.condition) != std::string::npos)
      two.runs.push_back(run);
  }
  for (const auto& arm : {contrast.arm, contrast.control}) {
    if (std::ranges::find(two.runs, arm, &study::RunEnd::arm) == two.runs.end()) {
      const auto where = contrast.condition.empty() ? "" : " under " + contrast.condition;
      return {{}, fmt::format("{} has no arm '{}'{}", study.name, arm, where)};
    }
  }
  const bool recorded = std::ranges::all_of(two.runs, [&](const study::RunEnd& run) {
    return run.state == "failed" || run.values.contains(contrast.metric);
  });
  if (!recorded)
    return {{}, fmt::format("{} has not recorded {} in every run", study.name, contrast.metric)};
  if (contrast.ratio) {
    for (auto& run : two.runs) {
      const auto found = run.values.find(contrast.metric);
      if (found != run.values.end()) found->second.value = std::log(found->second.value);
    }
  }
  return {study::compare_runs(two.runs, contrast.control, {contrast.metric}), ""};
}

std::string describe(const ContrastResult& result) {
  const auto& c = result.found;
  const auto& d = c.difference;
  const bool ratio = result.contrast.ratio;
  auto text = fmt::format("{}{} of {} {} {}",
                          c.metric,
                          c.condition.empty() ? "" : " (" + c.condition + ")",
                          c.arm,
                          ratio ? "over" : "against",
                          c.control);
  if (d.pairs == 0) return text + ": no pair of usable values";
  const auto number = [&](double value) {
    return ratio ? fmt::format("{:.4g}", std::exp(value)) : fmt::format("{:+.3g}", value);
  };
  text += " " + number(d.mean) + (ratio ? " times" : "");
  if (d.is_same_in_all()) {
    text += " in every pair";
  } else if (d.pairs >= 2) {
    text += fmt::format(" [{}, {}]", number(d.lower), number(d.upper));
  }
  text += fmt::format(" from {:.4g}, {} {}",
                      ratio ? std::exp(c.control_median) : c.control_median,
                      d.pairs,
                      d.pairs == 1 ? "pair" : "pairs");
  if (d.left_out > 0) text += fmt::format(" ({} pairs left out)", d.left_out);
  return text;
}

ContrastResults find_contrasts(const StudyRuns& study, const std::vector<Contrast>& contrasts) {
  ContrastResults out;
  for (const auto& contrast : contrasts) {
    const auto pairs = compare_arms(study, contrast);
    if (!pairs.lacking.empty()) return {{}, pairs.lacking};
    for (const auto& found : pairs.comparisons) {
      const auto again = [&](const ContrastResult& earlier) { return repeats(earlier, found); };
      if (std::ranges::any_of(out.results, again)) continue;
      out.results.push_back({contrast, found, found.difference.p});
    }
  }
  return out;
}

std::string in_words(const std::vector<ContrastResult>& results, WithP with_p) {
  std::string text;
  for (const auto& result : results) {
    text += (text.empty() ? "" : "; ") + describe(result);
    if (with_p == WithP::kYes && !std::isnan(result.p)) text += fmt::format(", p {:.2g}", result.p);
  }
  return text;
}

void report(const ContrastResult& result, Verdict& verdict) {
  const auto& d = result.difference();
  const bool ratio = result.contrast.ratio;
  const auto on_scale = [&](double value) { return ratio ? std::exp(value) : value; };
  verdict.left = fmt::format("{} of {} {} {}{}",
                             result.found.metric,
                             result.found.arm,
                             ratio ? "over" : "minus",
                             result.found.control,
                             result.found.condition.empty() ? "" : ", " + result.found.condition);
  verdict.measured = on_scale(d.mean);
  verdict.lower.reset();
  verdict.upper.reset();
  if (d.pairs >= 2 && !d.is_same_in_all()) {
    verdict.lower = on_scale(d.lower);
    verdict.upper = on_scale(d.upper);
  }
  verdict.margin = std::abs(verdict.measured - verdict.predicted);
}

Verdict begin(const ContrastResults& compared, const std::string& right) {
  Verdict verdict;
  verdict.route = "study";
  verdict.right = right;
  verdict.condition = compared.lacking;
  if (compared.results.empty()) return verdict;
  const auto& first = compared.results.front();
  verdict.predicted = first.contrast.ratio ? 1 : 0;
  for (const auto& result : compared.results) verdict.cases += result.difference().pairs;
  report(first, verdict);
  return verdict;
}

void set_p(Verdict& verdict, double p) {
  if (!std::isnan(p)) verdict.p = p;
}

std::optional<std::int64_t> pairs_needed(const PairedDifference& d, double value) {
  constexpr std::int64_t kMost = 1'000'000;
  if (std::isnan(d.detectable) || value == 0) return std::nullopt;
  const double spread = d.detectable_at(study::kLevel) * std::sqrt(static_cast<double>(d.pairs)) /
                        (student_quantile(1 - study::kLevel / 2, static_cast<double>(d.pairs - 1)) +
                         student_quantile(0.8, static_cast<double>(d.pairs - 1)));
  const auto finds = [&](std::int64_t pairs) {
    const auto freedom = static_cast<double>(pairs - 1);
    return (student_quantile(1 - study::kLevel / 2, freedom) + student_quantile(0.8, freedom)) *
               spread / std::sqrt(static_cast<double>(pairs)) <=
           std::abs(value);
  };
  std::int64_t most = 2;
  while (most <= kMost && !finds(most)) most *= 2;
  if (most > kMost) return std::nullopt;
  std::int64_t least = std::max<std::int64_t>(most / 2, 1);  // does not, or is one pair
  while (most - least > 1) {
    const auto middle = (least + most) / 2;
    (finds(middle) ? most : least) = middle;
  }
  return most;
}

double bound_of(const Margin& margin, const ContrastResult& result) {
  const auto own = result.contrast.matters.value_or(margin);
  if (result.contrast.ratio) return std::log1p(own.share);
  return std::max(own.absolute, own.share * std::abs(result.found.control_median));
}

double p_of_within(const PairedDifference& d, double bound) {
  return doubled(std::max(d.p_above(-bound), d.p_below(bound)));
}

double p_of_beyond(const PairedDifference& d, double bound) {
  return doubled(d.mean < 0 ? d.p_below(-bound) : d.p_above(bound));
}

double p_of_short(const ContrastResult& result, double bound) {
  const auto& d = result.difference();
  return doubled(result.contrast.expected == Direction::kLower ? d.p_above(-bound)
                                                               : d.p_below(bound));
}

double p_of_passing(const ContrastResult& result, double bound) {
  const auto& d = result.difference();
  return doubled(result.contrast.expected == Direction::kLower ? d.p_below(-bound)
                                                               : d.p_above(bound));
}

std::string what_is_left_out(const std::vector<ContrastResult>& results) {
  for (const auto& result : results) {
    const auto& d = result.difference();
    if (d.left_out == 0) continue;
    return fmt::format(
        "of {} of {} against {} {} of {} pairs are left out, as a run diverged or has no such "
        "value, and the others are a selection by outcome; ",
        result.found.metric,
        result.found.arm,
        result.found.control,
        d.left_out,
        d.left_out + d.pairs);
  }
  return "";
}

Test any_of(const std::vector<ContrastResult>& results,
            const std::function<double(const ContrastResult&)>& p_of) {
  Test test;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& result : results) {
    const double p = p_of(result);
    if (std::isnan(p) || p >= least) continue;
    least = p;
    test = {std::min(1.0, p * static_cast<double>(results.size())), &result};
  }
  return test;
}

Test all_of(const std::vector<ContrastResult>& results,
            const std::function<double(const ContrastResult&)>& p_of) {
  Test test{0, nullptr};
  for (const auto& result : results) {
    const double p = p_of(result);
    if (std::isnan(p)) return {1, &result};
    if (test.on == nullptr || p > test.p) test = {p, &result};
  }
  return test.on == nullptr ? Test{} : test;
}

std::string margin_in_words(const Margin& margin) {
  if (margin.share == 0) return fmt::format("{:g}", margin.absolute);
  const auto share = fmt::format("{:g} % of the control", 100 * margin.share);
  return margin.absolute == 0 ? share : fmt::format("{:g} or {}", margin.absolute, share);
}

}  // namespace kappascope::theory
