// SPDX-License-Identifier: Apache-2.0
// What the features say: condition numbers, the bias, what could not be resolved.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "reports/figures/builders.h"
#include "reports/findings/rules.h"
#include "reports/findings/wording.h"
#include "reports/runs/groups.h"

namespace kappascope::reports {
namespace {

constexpr std::size_t kFewLayers = 4;

struct LayerValue {
  std::string layer{};
  double value = 0;
  std::string text{};
};

/// "0.4× in a and 0.5× in b"; of many layers the least and the largest.
std::string over_layers(const std::vector<LayerValue>& values) {
  if (values.size() > kFewLayers) {
    const auto [low, high] = std::ranges::minmax_element(values, {}, &LayerValue::value);
    return fmt::format("from {} in {} to {} in {} ({} layers)",
                       low->text,
                       low->layer,
                       high->text,
                       high->layer,
                       values.size());
  }
  std::vector<std::string> parts;
  parts.reserve(values.size());
  for (const auto& value : values) parts.push_back(value.text + " in " + value.layer);
  return listed(parts);
}

/// "a, b and 7 more".
std::string first_of(std::vector<std::string> items) {
  if (items.size() > kFewLayers) {
    const std::size_t more = items.size() - kFewLayers + 1;
    items.resize(kFewLayers - 1);
    items.push_back(fmt::format("{} more", more));
  }
  return listed(items);
}

}  // namespace

void find_kappa_ratio(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm& arm : arms) {
    if (!arm.has(id::kKappaSigma)) continue;
    const auto ratio = largest_of(arm, id::kKappas, mean_costs);
    if (!ratio) {
      // In steps it is: there is nothing to do.
      if (largest_of(arm, id::kLearning, steps_mean_costs)) continue;
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
         certainty_of(*ratio),
         false});
  }
}

void find_kappa_left(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm& arm : arms) {
    const auto left = largest_of(arm, id::kKappas, bias_leaves);
    if (!left) continue;
    const auto changed = bias_changes(arm, left->layer);
    out.push_back({"kappa_left",
                   fmt::format("{}: with its bias b the W_d block is at {}× κ(Σ) in {}, the layer "
                               "where most of the cost remains{}.",
                               arm.label,
                               words(left->value),
                               left->layer,
                               changed ? fmt::format("; that is {}× κ(Σ+μμᵀ), the κ without b",
                                                     words(changed->value))
                                       : ""),
                   certainty_of(*left),
                   false});
  }
}

void find_arm_kappas(const std::vector<Arm>& arms, Findings& out) {
  std::map<std::string, std::size_t> bases;  // the first arm of each condition
  for (std::size_t a = 0; a < arms.size(); ++a) {
    const Arm& base = arms[bases.emplace(arms[a].fact("condition"), a).first->second];
    if (&base == &arms[a]) continue;
    std::vector<LayerValue> ratios;
    std::vector<std::string> open;
    std::vector<std::string> certain;
    std::vector<std::string> layers = layers_of(base, id::kKappas);
    for (const auto& layer : layers_of(arms[a], id::kKappas))
      if (std::ranges::find(layers, layer) == layers.end()) layers.push_back(layer);
    std::ranges::sort(layers, natural_less);
    for (const auto& layer : layers) {
      const auto ratio = ratio_of(arms[a].last(block_kappa(arms[a], layer), layer),
                                  base.last(block_kappa(base, layer), layer));
      if (!ratio) {
        open.push_back(layer);
        continue;
      }
      ratios.push_back({layer, ratio->value, words(ratio->value) + "×"});
      if (ratio->lower) {
        certain.push_back(words(*ratio->lower) + "–" + words(*ratio->upper) + " in " + layer);
      }
    }
    if (ratios.empty()) continue;
    std::string text = fmt::format("κ of the W_d block at the end, {} against {}: {}",
                                   arms[a].label,
                                   base.label,
                                   over_layers(ratios));
    if (!open.empty()) text += "; not resolved in " + first_of(open);
    out.push_back(
        {"arm_kappa",
         text + ".",
         base.seeds > 1 && arms[a].seeds > 1 ? fmt::format("Of medians. {}.", kComparePairs)
         : certain.empty()                   ? "No interval was recorded."
                           : "At least 90 % each for these features: " + first_of(certain) +
                                 ". One seed per arm: another may differ.",
         false});
  }
}

void find_absorption(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm& arm : arms) {
    std::vector<LayerValue> shares;
    std::vector<std::string> details, open;
    for (const auto& layer : layers_of(arm, id::kBiasResidual)) {
      const auto taken = absorbed(arm, layer);
      if (!taken) continue;
      if (!taken->resolved) {
        open.push_back(layer);
        continue;
      }
      shares.push_back({layer, taken->share, in_words(*taken)});
      if (taken->share < 0) {
        details.push_back(
            fmt::format("with b the mean is {}× as long in {}", words(1 - taken->share), layer));
      }
      if (const auto cosine = arm.last(id::kBiasCos, layer)) {
        std::string detail =
            fmt::format("cos(b, −μ) = {} in {}", words(cosine->scalar.value), layer);
        const std::string bounds = interval(cosine->scalar);
        if (!bounds.empty()) detail += fmt::format(" ({})", bounds);
        details.push_back(std::move(detail));
      }
    }
    if (shares.empty() && open.empty()) continue;
    std::string text = arm.label + ": of the mean's length the bias has absorbed ";
    if (!shares.empty()) text += over_layers(shares) + (open.empty() ? "" : "; ");
    if (!open.empty()) text += "a share that is not resolved in " + first_of(open);
    out.push_back(
        {"absorption", text + ".", details.empty() ? "" : first_of(details) + ".", false});
  }
}

void find_unresolved(const std::vector<Arm>& arms, Findings& out) {
  struct Count {
    std::size_t unresolved = 0, all = 0;
    double n = 0;
  };
  for (const Arm* run : runs_of(arms)) {
    const Arm& arm = *run;
    std::map<std::pair<std::string, std::string>, Count> counts;  // (series, status)
    std::set<std::string> open;
    std::map<std::string, std::size_t> totals;
    for (const auto& [key, points] : arm.scalars) {
      if (id::kSpectrum.contains(key.name)) continue;  // these have a certificate of their own
      const std::string name = key.layer.empty() ? key.name : key.name + " of " + key.layer;
      totals[name] += points.size();
      points.each_stretch([&](const store::Scalar& scalar, std::size_t begin, std::size_t end) {
        // That a matrix is singular is known.
        if (is_resolved(scalar) || scalar.status == store::Status::kDegenerate) return;
        open.insert(name);
        Count& count = counts[{name, status_text(scalar)}];
        count.unresolved += end - begin;
        count.n = scalar.n_effective.value_or(scalar.n.value_or(0));
      });
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
    if (parts.size() > 6) {
      const auto more = parts.size() - 5;
      parts.resize(5);
      parts.push_back(fmt::format("{} more", more));
    }
    out.push_back({"unresolved",
                   fmt::format("{}: {} of {} series have estimates that their rows do not resolve "
                               "(hollow markers).",
                               arm.label,
                               open.size(),
                               totals.size()),
                   fmt::format("{}.", fmt::join(parts, "; ")),
                   true});
  }
}

void find_broken_features(const std::vector<Arm>& arms, Findings& out) {
  for (const Arm* run : runs_of(arms)) {
    const Arm& arm = *run;
    std::vector<std::string> parts;
    for (const auto& answer : {diagnose_dead_units(arm), diagnose_precision(arm)}) {
      for (const auto& [series, layer, step] : answer.evidence) {
        if (series == id::kOutsideBfloat16) continue;  // `advise` has them
        const bool dead = series == id::kDeadFeatures;
        const char* meaning = dead                              ? "always zero"
                              : series == id::kConstantFeatures ? "constant"
                                                                : "rows with a non-finite number";
        const auto count = dead ? always_zero(arm, {series, layer, step})
                                : words(arm.last(series, layer)->scalar.value);
        parts.push_back(fmt::format("{} {} in {}", count, meaning, layer));
      }
    }
    if (parts.empty()) continue;
    out.push_back({"broken_features",
                   fmt::format("{}: some features are broken: {}.", arm.label, first_of(parts)),
                   "Counted at the last snapshot: " + listed(parts) + ".",
                   true});
  }
}

}  // namespace kappascope::reports
