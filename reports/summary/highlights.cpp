// SPDX-License-Identifier: Apache-2.0
// What stands out below the first screen.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <set>
#include <string_view>

#include "reports/summary/answers.h"

namespace kappascope::reports {
namespace {

constexpr std::size_t kMost = 3;

/// What a finding is about. Of a theme one stands out.
enum class Theme : std::uint8_t { kTrouble, kLoss, kMean, kRate, kBias, kOther };

/// The findings that may stand out, the more urgent first, and the figure that shows each. How the
/// losses ended the headline says.
struct Kind {
  std::string_view id;
  Theme theme;
  const char* figure;
};
constexpr std::array<Kind, 12> kKinds = {{{"nan_loss", Theme::kTrouble, ""},
                                          {"damaged", Theme::kTrouble, ""},
                                          {"unfinished", Theme::kTrouble, ""},
                                          {"spikes", Theme::kLoss, ""},
                                          {"learning_left", Theme::kMean, "mean_costs"},
                                          {"learning_mean", Theme::kMean, "mean_costs"},
                                          {"kappa_left", Theme::kMean, "kappa_costs"},
                                          {"arm_kappa", Theme::kMean, "kappa_layers"},
                                          {"kappa_ratio", Theme::kMean, "kappa_costs"},
                                          {"sharpness", Theme::kRate, "hessian_eigenvalues"},
                                          {"bias_choice", Theme::kBias, "variance_by_bias"},
                                          {"absorption", Theme::kBias, "intercept_absorption"}}};

Theme theme_of(Question question) {
  switch (question) {
    case Question::kLearningRate:
      return Theme::kRate;
    case Question::kBias:
      return Theme::kMean;
    default:
      return Theme::kOther;
  }
}

const char* figure_of(Question question, const Arm& arm) {
  switch (question) {
    case Question::kLearningRate:
      return "hessian_eigenvalues";
    case Question::kBias:
      return arm.has(id::kLearning) ? "mean_costs" : "kappa_costs";
    case Question::kFeatureScale:
      return "kappa_layers";
    default:
      return "";
  }
}

/// The first of this kind, or of those the first that a reader should not overlook. That a cost is
/// not known does not stand out.
const Finding* most_urgent(const std::vector<Finding>& findings, const Kind& kind) {
  const Finding* found = nullptr;
  for (const auto& one : findings) {
    if (one.id != kind.id || (kind.theme == Theme::kMean && one.warning)) continue;
    if (found == nullptr || (one.warning && !found->warning)) found = &one;
  }
  return found;
}

std::string capitalised(std::string text) {
  if (!text.empty())
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

Highlight of_request(const Request& request, const std::vector<Arm>& arms) {
  const Suggestion& what = request.suggestion;
  const auto whose = arms.size() > 1 ? arms[request.arm].label + ": " : "";
  return {.text = (whose.empty() ? capitalised(what.evidence) : whose + what.evidence) + ".",
          .todo = fmt::format("Try {}. It has worked if {}.", what.attempt, what.success),
          .figure = figure_of(request.question, arms[request.arm]),
          .warning = request.grade >= Grade::kWatch,
          .bad = request.grade == Grade::kBad};
}

}  // namespace

std::vector<Highlight> highlights(const std::vector<Arm>& arms,
                                  const std::vector<Finding>& findings) {
  std::vector<Highlight> out;
  std::set<Theme> told;
  for (const auto& request : requests_of(arms)) {
    const auto theme = theme_of(request.question);
    if (out.size() == kMost || (!told.insert(theme).second && theme != Theme::kOther)) continue;
    out.push_back(of_request(request, arms));
  }
  for (const auto& kind : kKinds) {
    const auto* found = most_urgent(findings, kind);
    if (found == nullptr || out.size() == kMost || !told.insert(kind.theme).second) continue;
    out.push_back({.text = found->text,
                   .certainty = found->certainty,
                   .figure = kind.figure,
                   .warning = found->warning});
  }
  return out;
}

}  // namespace kappascope::reports
