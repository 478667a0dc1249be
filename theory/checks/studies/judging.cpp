// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/studies/judging.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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
  return {study::compare_runs(two.runs, contrast.control, {contrast.metric}), ""};
}

std::string describe(const study::Comparison& c) {
  const auto& d = c.difference;
  auto text = fmt::format("{}{} of {} against {}",
                          c.metric,
                          c.condition.empty() ? "" : " (" + c.condition + ")",
                          c.arm,
                          c.control);
  if (d.pairs == 0) return text + ": no pair of usable values";
  text += fmt::format(" {:+.3g}", d.mean);
  if (d.is_same_in_all()) {
    text += " in every pair";
  } else if (d.pairs >= 2) {
    text += fmt::format(" [{:+.3g}, {:+.3g}]", d.lower, d.upper);
  }
  text += fmt::format(
      " from {:.4g}, {} {}", c.control_median, d.pairs, d.pairs == 1 ? "pair" : "pairs");
  if (!std::isnan(c.corrected_p)) text += fmt::format(", p {:.2g}", c.corrected_p);
  if (d.left_out > 0) text += fmt::format(" ({} pairs left out)", d.left_out);
  return text;
}

ContrastResults find_contrasts(const StudyRuns& study,
                               const std::vector<Contrast>& contrasts,
                               study::Family& family) {
  ContrastResults out;
  for (const auto& contrast : contrasts) {
    const auto pairs = compare_arms(study, contrast);
    if (!pairs.lacking.empty()) return {{}, pairs.lacking};
    for (const auto& found : pairs.comparisons) {
      const auto again = [&](const ContrastResult& earlier) { return repeats(earlier, found); };
      if (std::ranges::any_of(out.results, again)) continue;
      family.add(found);
      out.results.push_back({contrast, found});
    }
  }
  return out;
}

void correct(ContrastResults& compared, const study::Family& family) {
  std::vector<study::Comparison> found;
  for (const auto& result : compared.results) found.push_back(result.found);
  family.correct(found);
  for (std::size_t i = 0; i < found.size(); ++i) compared.results[i].found = found[i];
}

std::string in_words(const std::vector<ContrastResult>& results) {
  std::string text;
  for (const auto& result : results) text += (text.empty() ? "" : "; ") + describe(result.found);
  return text;
}

void report(const ContrastResult& result, Verdict& verdict) {
  const auto& d = result.difference();
  verdict.left = fmt::format("{} of {} minus {}{}",
                             result.found.metric,
                             result.found.arm,
                             result.found.control,
                             result.found.condition.empty() ? "" : ", " + result.found.condition);
  verdict.measured = d.mean;
  verdict.lower.reset();
  verdict.upper.reset();
  if (d.pairs >= 2 && !d.is_same_in_all()) {
    verdict.lower = d.lower;
    verdict.upper = d.upper;
  }
  verdict.margin = std::abs(d.mean - verdict.predicted);
}

Verdict begin(const ContrastResults& compared, const std::string& right) {
  Verdict verdict;
  verdict.route = "study";
  verdict.right = right;
  for (const auto& result : compared.results) verdict.cases += result.difference().pairs;
  if (!compared.results.empty()) report(compared.results.front(), verdict);
  verdict.condition = compared.results.empty() ? compared.lacking : in_words(compared.results);
  return verdict;
}

void set_p(Verdict& verdict, double p) {
  if (!std::isnan(p)) verdict.p = p;
}

double largest_p(const std::vector<ContrastResult>& results) {
  double largest = 0;
  for (const auto& result : results) {
    if (std::isnan(result.found.corrected_p)) return std::nan("");
    largest = std::max(largest, result.found.corrected_p);
  }
  return largest;
}

std::string what_was_missed(const std::vector<ContrastResult>& results, double level) {
  const ContrastResult* coarsest = nullptr;
  for (const auto& result : results) {
    const double missed = result.difference().detectable;
    if (missed > 0 && (coarsest == nullptr || missed > coarsest->difference().detectable))
      coarsest = &result;
  }
  if (coarsest == nullptr) return "";
  return fmt::format(
      "of {} a difference of {:.2g} would have been found four times of five, at a corrected level "
      "of {:.2g}: ",
      coarsest->found.metric,
      coarsest->difference().detectable,
      level);
}

double bound_of(const Margin& margin, const study::Comparison& found) {
  return std::max(margin.absolute, margin.share * std::abs(found.control_median));
}

double p_of_within(const PairedDifference& d, double bound) {
  if (d.is_same_in_all()) return std::abs(d.mean) <= bound ? 0 : 1;
  return std::min(1.0, 2 * std::max(d.p_above(-bound), d.p_below(bound)));
}

double p_of_beyond(const PairedDifference& d, double bound) {
  return std::min(1.0, 2 * (d.mean < 0 ? d.p_below(-bound) : d.p_above(bound)));
}

std::string test_name(const std::string& what, const std::vector<Contrast>& contrasts) {
  std::string name = what;
  for (const auto& c : contrasts)
    name += fmt::format("|{}/{}/{}/{}", c.metric, c.arm, c.control, c.condition);
  return name;
}

std::string margin_in_words(const Margin& margin) {
  if (margin.share == 0) return fmt::format("{:g}", margin.absolute);
  const auto share = fmt::format("{:g} % of the control", 100 * margin.share);
  return margin.absolute == 0 ? share : fmt::format("{:g} or {}", margin.absolute, share);
}

}  // namespace kappascope::theory
