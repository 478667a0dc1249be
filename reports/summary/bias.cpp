// SPDX-License-Identifier: Apache-2.0
// Did the post-gating bias help: what it left of κ(Σ+μμᵀ), layer by layer.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "reports/findings/terms.h"
#include "reports/runs/layer_names.h"
#include "reports/summary/answers.h"

namespace kappascope::reports {
namespace {

struct Effect {
  std::size_t better = 0, worse = 0, even = 0, open = 0;  ///< layers, as the intervals decide
  std::optional<Ratio> largest;  ///< κ with the bias over κ without, where it changes most

  [[nodiscard]] std::size_t layers() const { return better + worse + even + open; }
};

/// Both sides are of the same rows; the interval takes them as dependent in the worst way.
Effect effect_of(const Arm& arm, const Terms& terms) {
  Effect effect;
  for (const auto& layer : terms.layers(arm)) {
    if (!has_bias(arm, layer) && arm.series(id::kLearningWithBias, layer).empty()) continue;
    const auto ratio = terms.bias_changes(arm, layer);
    if (!ratio || !ratio->lower) {
      ++effect.open;
      continue;
    }
    ++(*ratio->upper < 1 ? effect.better : *ratio->lower > 1 ? effect.worse : effect.even);
    const auto size = [](const Ratio& r) { return std::abs(std::log(r.value)); };
    if (!effect.largest || size(*ratio) > size(*effect.largest)) effect.largest = ratio;
  }
  return effect;
}

std::string counts_of(const Effect& effect) {
  std::vector<std::string> parts;
  const auto add = [&](std::size_t count, const char* what) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, what));
  };
  add(effect.better, "lower");
  add(effect.worse, "higher");
  add(effect.even, "not told apart");
  add(effect.open, "not resolved");
  return listed(parts);
}

/// "of 6 layers 4 lower and 2 not told apart"
std::string layers_text(const Effect& effect) {
  if (effect.even == effect.layers())
    return fmt::format("none of {} beyond its interval", counted(effect.layers(), "layer"));
  return fmt::format("of {} {}", counted(effect.layers(), "layer"), counts_of(effect));
}

/// What the mean costs where no arm has a bias: what one could gain.
Answer without_bias(const std::vector<Arm>& arms, const Terms& terms, Answer out) {
  out.answer = "no arm has one";
  const LayerNames short_name(arms);
  const Ratio* most = nullptr;
  std::vector<std::pair<std::size_t, Ratio>> found;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    std::optional<Ratio> worst;
    for (const auto& layer : terms.layers(arms[a])) {
      auto ratio = terms.mean_costs(arms[a], layer);
      if (ratio && (!worst || ratio->value > worst->value)) worst = std::move(ratio);
    }
    if (worst) found.emplace_back(a, *worst);
  }
  for (const auto& [a, ratio] : found) {
    out.readings.push_back({a,
                            fmt::format("the mean costs {}× {}in {}",
                                        words(ratio.value),
                                        terms.in_steps() ? "the steps " : "",
                                        short_name(ratio.layer)),
                            ratio.lower
                                ? fmt::format("{}–{}×", words(*ratio.lower), words(*ratio.upper))
                                : "no interval"});
    if (most == nullptr || ratio.value > most->value) most = &ratio;
  }
  out.why = most == nullptr ? "What the mean of the features costs is not resolved in any layer."
            : terms.in_steps()
                ? "Steps to learn 90 % with the mean over those without it: what a bias could take "
                  "up at best; `kappascope advise` says more."
                : "κ(Σ+μμᵀ)/κ(Σ) is what a bias could take up at best; `kappascope advise` says "
                  "more.";
  return out;
}

}  // namespace

Answer bias(const std::vector<Arm>& arms) {
  Answer out{
      .id = "bias", .question = "Did the post-gating bias help?", .figure = "intercept_absorption"};
  const LayerNames short_name(arms);
  const Terms terms(arms);
  std::size_t better = 0;
  std::size_t worse = 0;
  std::size_t layers = 0;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    const Effect effect = effect_of(arms[a], terms);
    if (effect.layers() == 0) continue;
    better += effect.better;
    worse += effect.worse;
    layers += effect.layers();
    Reading reading{a,
                    fmt::format("{} with the bias over {} without it is not resolved in any layer",
                                terms.in_steps() ? "steps" : "κ",
                                terms.in_steps() ? "steps" : "κ"),
                    ""};
    if (effect.largest) {
      const Ratio& ratio = *effect.largest;
      reading.number = fmt::format("it changes {} most in {}: to {}× of {}",
                                   terms.in_steps() ? "the steps to learn 90 %" : "κ(Σ+μμᵀ)",
                                   short_name(ratio.layer),
                                   words(ratio.value),
                                   terms.in_steps() ? "those" : "it");
      reading.interval =
          fmt::format("{}–{}×; {}", words(*ratio.lower), words(*ratio.upper), layers_text(effect));
    }
    out.readings.push_back(std::move(reading));
  }
  if (layers == 0) return without_bias(arms, terms, std::move(out));
  out.answer = better > 0 && worse == 0   ? better == layers ? "yes" : "yes, in part"
               : better == 0 && worse > 0 ? "no"
               : better > 0               ? "mixed"
                                          : "cannot tell";
  out.grade = better > 0 && worse == 0   ? Grade::kGood
              : better == 0 && worse > 0 ? Grade::kBad
              : better > 0               ? Grade::kWatch
                                         : Grade::kOpen;
  out.why = fmt::format(
      "Within a run: {} of the W_d block with the learned bias over {} without it, on the same "
      "features; lower in {} of {} layers. The loss need not follow, and a difference between "
      "arms may be luck of their seeds.",
      terms.in_steps() ? "steps to learn 90 %" : "κ",
      terms.in_steps() ? "those" : "κ",
      better,
      layers);
  return out;
}

}  // namespace kappascope::reports
