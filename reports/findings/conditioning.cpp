// SPDX-License-Identifier: Apache-2.0
// What the features say: condition numbers, the bias, what could not be resolved.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "reports/figures/builders.h"
#include "reports/findings/ratio.h"
#include "reports/findings/rules.h"

namespace kappascope::reports {
namespace {

/// The largest over the layers of name_a/name_b at their last points.
std::optional<Ratio> worst_ratio(const Arm& arm, const std::string& a, const std::string& b) {
  std::optional<Ratio> worst;
  for (const auto& layer : layers_of({arm}, a)) {
    auto ratio = ratio_of(arm.last(a, layer), arm.last(b, layer));
    if (!ratio || (worst && worst->value >= ratio->value)) continue;
    ratio->layer = layer;
    worst = ratio;
  }
  return worst;
}

}  // namespace

void find_kappa_ratio(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm& arm : arms) {
    if (!arm.has(id::kKappaSigma)) continue;
    const auto ratio = worst_ratio(arm, id::kKappaSecondMoment, id::kKappaSigma);
    if (!ratio) {
      out.push_back(
          {"kappa_ratio",
           arm.label + ": the cost of the feature mean is not known, because κ(Σ) or "
                       "κ(Σ+μμᵀ) is not resolved in any layer.",
           "More rows a window would resolve it: raise probes.window (window= in Python).",
           true});
      continue;
    }
    out.push_back(
        {"kappa_ratio",
         fmt::format("{}: κ(Σ+μμᵀ) is {}× κ(Σ) in {}, the layer where the mean costs most.",
                     arm.label,
                     words(ratio->value),
                     ratio->layer),
         ratio->certainty(),
         false});
    if (!arm.has(id::kBiasResidual)) continue;  // without b this is the sentence above
    const auto left = worst_ratio(arm, id::kKappaWithBias, id::kKappaSigma);
    if (!left) continue;
    out.push_back({"kappa_left",
                   fmt::format("{}: with its bias b the W_d block is at {}× κ(Σ) in {}, the layer "
                               "where most of the cost remains.",
                               arm.label,
                               words(left->value),
                               left->layer),
                   left->certainty(),
                   false});
  }
}

void find_arm_kappas(const std::vector<Arm>& arms, Findings& out) {
  for (std::size_t a = 1; a < arms.size(); ++a) {
    std::vector<std::string> parts;
    std::vector<std::string> certain;
    bool any = false;
    for (const auto& layer : layers_of({arms[0], arms[a]}, id::kKappas)) {
      const auto ratio = ratio_of(arms[a].last(block_kappa(arms[a], layer), layer),
                                  arms[0].last(block_kappa(arms[0], layer), layer));
      if (!ratio) {
        parts.push_back("not resolved in " + layer);
        continue;
      }
      any = true;
      parts.push_back(words(ratio->value) + "× in " + layer);
      if (ratio->lower) {
        certain.push_back(words(*ratio->lower) + "–" + words(*ratio->upper) + " in " + layer);
      }
    }
    if (!any) continue;
    out.push_back({"arm_kappa",
                   fmt::format("κ of the W_d block at the end, {} against {}: {}.",
                               arms[a].label,
                               arms[0].label,
                               listed(parts)),
                   certain.empty() ? "No interval was recorded."
                                   : "At least 90 % each for these features: " + listed(certain) +
                                         ". One seed per arm: another may differ.",
                   false});
  }
}

void find_absorption(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm& arm : arms) {
    std::vector<std::string> parts;
    std::vector<std::string> details;
    for (const auto& layer : layers_of({arm}, id::kBiasResidual)) {
      const auto* residual = arm.last(id::kBiasResidual, layer);
      if (residual == nullptr) continue;
      const double share = 1 - residual->scalar.value;
      parts.push_back(share < 0
                          ? fmt::format("none in {} (the mean grew by {})", layer, percent(-share))
                          : percent(share) + " in " + layer);
      const auto* cosine = arm.last(id::kBiasCos, layer);
      if (cosine != nullptr) {
        std::string detail = words(cosine->scalar.value) + " in " + layer;
        const std::string bounds = interval(cosine->scalar);
        if (!bounds.empty()) detail += fmt::format(" ({})", bounds);
        details.push_back(std::move(detail));
      }
    }
    if (parts.empty()) continue;
    out.push_back(
        {"absorption",
         fmt::format(
             "{}: the bias has absorbed {} of the mean's length.", arm.label, listed(parts)),
         details.empty() ? "" : "cos(b, −μ): " + listed(details) + ".",
         false});
  }
}

void find_unresolved(const std::vector<Arm>& arms, Findings& out) {
  struct Count {
    std::size_t unresolved = 0, all = 0;
    double n = 0;
  };
  for (const Arm& arm : arms) {
    std::map<std::pair<std::string, std::string>, Count> counts;  // (series, status)
    std::map<std::string, std::size_t> totals;
    for (const auto& [key, points] : arm.scalars) {
      if (id::kSpectrum.contains(key.name)) continue;  // these have a certificate of their own
      const std::string name = key.layer.empty() ? key.name : key.name + " of " + key.layer;
      for (const auto& point : points) {
        ++totals[name];
        if (is_resolved(point.scalar)) continue;
        Count& count = counts[{name, status_text(point.scalar)}];
        ++count.unresolved;
        count.n = point.scalar.n_effective.value_or(point.scalar.n.value_or(0));
      }
    }
    if (counts.empty()) continue;
    std::vector<std::string> parts;
    parts.reserve(counts.size());
    for (const auto& [where, count] : counts) {
      parts.push_back(fmt::format("{}: {} {} of {} times{}",
                                  where.first,
                                  where.second,
                                  count.unresolved,
                                  totals[where.first],
                                  count.n > 0 ? " (effective n " + words(count.n) + ")" : ""));
    }
    const std::size_t series = counts.size();
    if (series > 6) {
      parts.resize(5);
      parts.push_back(fmt::format("{} more series", series - 5));
    }
    out.push_back({"unresolved",
                   fmt::format("{}: {} of {} series have estimates that are not resolved at this "
                               "sample size (hollow markers).",
                               arm.label,
                               series,
                               totals.size()),
                   fmt::format("{}.", fmt::join(parts, "; ")),
                   true});
  }
}

void find_broken_features(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm& arm : arms) {
    std::vector<std::string> parts;
    for (const auto& [name, meaning] :
         {std::pair{id::kDeadFeatures, "dead"},
          std::pair{id::kConstantFeatures, "constant"},
          std::pair{id::kNonfiniteRows, "rows with a non-finite number"}}) {
      for (const auto& layer : layers_of({arm}, name)) {
        const auto* point = arm.last(name, layer);
        if (point == nullptr || !(point->scalar.value > 0)) continue;
        parts.push_back(fmt::format("{} {} in {}", words(point->scalar.value), meaning, layer));
      }
    }
    if (parts.empty()) continue;
    out.push_back({"broken_features",
                   fmt::format("{}: some features are broken: {}.", arm.label, listed(parts)),
                   "Counted at the last snapshot.",
                   true});
  }
}

}  // namespace kappascope::reports
