// SPDX-License-Identifier: Apache-2.0
// check_pooled() of contrasts.h.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "theory/checks/studies/judging.h"

namespace kappascope::theory {
namespace {

/// The number of `setting` in "dropout 0.1, latent-noise 0.3".
std::optional<double> number_in(const std::string& condition, const std::string& setting) {
  const auto at = (", " + condition).find(", " + setting + " ");
  if (at == std::string::npos) return std::nullopt;
  const auto* begin = condition.c_str() + at + setting.size() + 1;
  char* end = nullptr;
  const double value = std::strtod(begin, &end);
  return end == begin ? std::nullopt : std::optional(value);
}

/// What one seed says: the mean of its differences over the conditions, then their slope on each
/// setting (least squares with a constant). Slopes are NaN where the conditions do not tell them.
std::vector<double> seed_summary(const Eigen::MatrixXd& settings, const Eigen::VectorXd& values) {
  std::vector<double> out = {values.mean()};
  Eigen::MatrixXd design(settings.rows(), settings.cols() + 1);
  design << Eigen::VectorXd::Ones(settings.rows()), settings;
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> solver(design);
  const bool told = solver.rank() == design.cols();
  const Eigen::VectorXd slopes = solver.solve(values);
  for (Eigen::Index k = 1; k < design.cols(); ++k) out.push_back(told ? slopes[k] : std::nan(""));
  return out;
}

/// The value of each seed under each condition, of an arm's runs that have one.
using Cells = std::map<std::string, std::map<std::string, double>>;  // by seed, condition

Cells cells_of(const StudyRuns& study, const std::string& arm, const std::string& metric) {
  Cells cells;
  for (const auto& run : study.runs) {
    const auto found = run.values.find(metric);
    if (run.arm == arm && run.state != "failed" && found != run.values.end() &&
        std::isfinite(found->second.value))
      cells[run.seed][run.condition] = found->second.value;
  }
  return cells;
}

/// The pooled difference of one contrast, then its slopes; or why there are none.
struct Pooled {
  std::vector<study::Comparison> tests;
  std::vector<double> extents;  ///< of the settings: from the least value to the largest
  std::string lacking;
};

/// The numbers of the settings, a row a condition; empty with `lacking` said.
Eigen::MatrixXd settings_of(const StudyRuns& study,
                            const std::set<std::string>& conditions,
                            const std::vector<std::string>& names,
                            std::string& lacking) {
  Eigen::MatrixXd settings(static_cast<Eigen::Index>(conditions.size()),
                           static_cast<Eigen::Index>(names.size()));
  Eigen::Index row = 0;
  for (const auto& condition : conditions) {
    for (std::size_t k = 0; k < names.size(); ++k) {
      const auto value = number_in(condition, names[k]);
      if (!value) {
        lacking =
            fmt::format("{} has a condition without {}: '{}'", study.name, names[k], condition);
        return {};
      }
      settings(row, static_cast<Eigen::Index>(k)) = *value;
    }
    ++row;
  }
  return settings;
}

Pooled pool(const StudyRuns& study,
            const std::vector<std::string>& names,
            const Contrast& contrast) {
  Pooled out;
  const auto arm = cells_of(study, contrast.arm, contrast.metric),
             control = cells_of(study, contrast.control, contrast.metric);
  std::set<std::string> conditions;
  for (const auto& run : study.runs) conditions.insert(run.condition);
  const auto settings = settings_of(study, conditions, names, out.lacking);
  if (!out.lacking.empty()) return out;
  std::vector<std::vector<double>> tests(1 + names.size());
  std::vector<double> control_values;
  std::set<std::string> seeds;
  for (const auto& run : study.runs) {
    if (run.arm == contrast.arm || run.arm == contrast.control) seeds.insert(run.seed);
  }
  for (const auto& seed : seeds) {
    const auto found = control.find(seed), other = arm.find(seed);
    if (found == control.end() || other == arm.end() || found->second.size() < conditions.size() ||
        other->second.size() < conditions.size()) {
      out.lacking = fmt::format(
          "seed {} lacks {} of '{}' or '{}' under a condition, as a run diverged or is missing, "
          "and the others are a selection by outcome",
          seed,
          contrast.metric,
          contrast.arm,
          contrast.control);
      return out;
    }
    const auto& values = found->second;
    Eigen::VectorXd differences(static_cast<Eigen::Index>(conditions.size()));
    Eigen::Index row = 0;
    for (const auto& condition : conditions) {
      control_values.push_back(values.at(condition));
      differences[row++] = other->second.at(condition) - values.at(condition);
    }
    const auto summary = seed_summary(settings, differences);
    for (std::size_t t = 0; t < tests.size(); ++t) tests[t].push_back(summary[t]);
  }
  if (tests[0].size() < 2) {
    out.lacking = fmt::format(
        "{} has fewer than two seeds of '{}' and '{}' with {} under "
        "every condition",
        study.name,
        contrast.arm,
        contrast.control,
        contrast.metric);
    return out;
  }
  for (Eigen::Index k = 0; k < settings.cols(); ++k)
    out.extents.push_back(settings.col(k).maxCoeff() - settings.col(k).minCoeff());
  for (std::size_t t = 0; t < tests.size(); ++t) {
    study::Comparison c;
    c.metric = t == 0 ? contrast.metric : "slope of " + contrast.metric;
    c.condition = t == 0 ? "all conditions pooled" : "on " + names[t - 1];
    c.arm = contrast.arm;
    c.control = contrast.control;
    c.arm_median = std::nan("");
    c.control_median = t == 0 ? median(control_values) : 0;
    c.difference = paired_difference(tests[t], std::vector<double>(tests[t].size(), 0.0));
    out.tests.push_back(c);
  }
  return out;
}

ContrastResults results_of(const Contrast& contrast, const std::vector<study::Comparison>& tests) {
  ContrastResults out;
  for (const auto& test : tests) out.results.push_back({contrast, test, test.difference.p});
  return out;
}

/// The statement is one of several: each is tested at its share of the level (Holm).
void correct(std::vector<ContrastResult>& results) {
  std::vector<double> p;
  p.reserve(results.size());
  for (const auto& result : results) p.push_back(result.p);
  const auto corrected = holm(p);
  for (std::size_t i = 0; i < results.size(); ++i) results[i].p = corrected[i];
}

/// The clearest result that is seen in the expected direction; nullptr without one, and where the
/// pooled difference is seen in the other.
const ContrastResult* clearest(const std::vector<ContrastResult>& results) {
  const auto& mean = results.front();
  if (mean.difference().p < study::kLevel && !mean.as_expected()) return nullptr;
  const ContrastResult* best = nullptr;
  for (const auto& result : results) {
    if (!result.is_significant() || !result.as_expected()) continue;
    if (best == nullptr || result.p < best->p) best = &result;
  }
  return best;
}

}  // namespace

Verdict check_pooled(const StudyRuns& study, const PooledQuestion& question) {
  const auto& contrast = question.contrast;
  const auto pooled = pool(study, question.settings, contrast);
  if (!pooled.lacking.empty()) {
    Verdict verdict;
    verdict.route = "study";
    verdict.condition = pooled.lacking;
    return verdict;
  }
  auto compared = results_of(contrast, pooled.tests);
  auto& results = compared.results;
  correct(results);
  const auto& mean = results.front();
  const double bound = bound_of(question.margin, mean);
  const auto missed = all_of(results, [&](const ContrastResult& result) {
    const auto test = static_cast<std::size_t>(&result - results.data());
    return p_of_short(result, test == 0 ? bound : bound / pooled.extents[test - 1]);
  });
  auto verdict = begin(compared, "0");
  std::string head;
  if (const auto* seen = clearest(results)) {
    verdict.outcome = Outcome::kHoldsUnder;
    report(*seen, verdict);
    set_p(verdict, seen->p);
    if (p_of_within(mean.difference(), bound) < study::kLevel)
      head = fmt::format("pooled by less than {}, which is taken not to matter; ",
                         margin_in_words(question.margin));
  } else if (missed.p < study::kLevel) {
    verdict.outcome = Outcome::kRefuted;
    verdict.witness = fmt::format("all fall short of {}, a slope over its whole setting: {}",
                                  margin_in_words(question.margin),
                                  in_words(results, WithP::kNo));
    set_p(verdict, missed.p);
  } else {
    verdict.outcome = Outcome::kTooFewRuns;
    double least = missed.p;
    for (const auto& result : results) {
      if (!std::isnan(result.p)) least = std::min(least, result.p);
    }
    verdict.p = least;
    const auto pairs = pairs_needed(mean.difference(), bound);
    if (pairs)
      head = fmt::format("{} seeds find a pooled difference of {} in four studies of five: ",
                         *pairs,
                         margin_in_words(question.margin));
  }
  verdict.condition = head + in_words(results, WithP::kYes);
  std::vector<ContrastResult> beside;
  for (const auto& other : question.beside) {
    const auto found = pool(study, question.settings, other);
    if (!found.tests.empty())
      beside.push_back({other, found.tests.front(), found.tests.front().difference.p});
  }
  if (!beside.empty()) verdict.condition += "; beside it: " + in_words(beside, WithP::kNo);
  return verdict;
}

}  // namespace kappascope::theory
