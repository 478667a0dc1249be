// SPDX-License-Identifier: Apache-2.0
// Did the post-gating bias help: what it changes, layer by layer.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "reports/diagnosis/ratio.h"
#include "reports/runs/layer_names.h"
#include "reports/summary/answers.h"

namespace kappascope::reports {
namespace {

/// How many layers of an arm the bias makes better, worse, changes by less than 10 %, neither, and
/// those where it is not known.
struct Effect {
  std::array<std::size_t, 5> layers{};
  std::size_t lower = 0;        ///< surely, by however little
  std::optional<Ratio> surest;  ///< with the bias over without, where it surely changes most
  std::size_t rivals = 0;       ///< other layers where it may change as much: intervals overlap
};

Effect effect_of(std::size_t arm, const std::vector<LayerBias>& layers) {
  Effect effect;
  const auto size = [](const std::optional<Ratio>& ratio) {
    return std::pair(sure_factor(ratio), std::abs(std::log(ratio->value)));
  };
  for (const auto& layer : layers) {
    if (layer.arm != arm || !layer.has_bias) continue;
    const auto& ratio = layer.bias_changes;
    const bool known = layer.decided != Verdict::kTooEarly && ratio && ratio->lower;
    const Side side = known ? side_of(ratio, 1) : Side::kUndecided;
    ++effect.layers.at(!known                 ? 4U
                       : is_negligible(ratio) ? 2U
                       : side == Side::kBelow ? 0U
                       : side == Side::kAbove ? 1U
                                              : 3U);
    effect.lower += side == Side::kBelow ? 1U : 0U;
    if (known && (!effect.surest || size(ratio) > size(effect.surest))) effect.surest = ratio;
  }
  for (const auto& layer : layers) {
    const auto& ratio = layer.bias_changes;
    if (layer.arm != arm || !layer.has_bias || layer.decided == Verdict::kTooEarly || !ratio ||
        !ratio->lower || ratio->layer == effect.surest->layer)
      continue;
    effect.rivals +=
        *ratio->lower <= *effect.surest->upper && *ratio->upper >= *effect.surest->lower ? 1U : 0U;
  }
  return effect;
}

Gauge gauge_of(const Ratio& ratio) {
  return {.value = ratio.value, .lower = ratio.lower, .upper = ratio.upper, .threshold = 1};
}

/// "of 6 layers 4 lower and 2 not significant"
std::string layers_text(const Effect& effect, std::size_t all) {
  constexpr std::array kWhat = {
      "lower", "higher", "changed by less than 10 %", "not significant", "not resolved"};
  if (effect.layers[3] == all)
    return fmt::format("none of {} beyond its interval", counted(all, "layer"));
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < kWhat.size(); ++i)
    if (effect.layers.at(i) > 0)
      parts.push_back(fmt::format("{} {}", effect.layers.at(i), kWhat.at(i)));
  return fmt::format("of {} {}", counted(all, "layer"), listed(parts));
}

/// "hardly, in 2 of 3 layers" where it is not known of all that have a bias.
std::string hardly(const BiasDiagnosis& bias) {
  const auto all = std::ranges::count(bias.layers, true, &LayerBias::has_bias);
  const auto some = std::ranges::count(bias.layers, Verdict::kNegligible, &LayerBias::decided);
  return some == all ? "hardly" : fmt::format("hardly, in {} of {} layers", some, all);
}

std::string answer_of(const BiasDiagnosis& bias) {
  const Verdict v = bias.verdict;
  const bool nothing = v == Verdict::kNothingToGain || v == Verdict::kMeanHelps;
  if (!bias.present)
    return v == Verdict::kWorthATrial ? "worth a trial"
           : v == Verdict::kUsual     ? "nothing unusual"
           : nothing                  ? "nothing to gain"
                                      : "cannot tell";
  return v == Verdict::kHelps         ? "yes"
         : v == Verdict::kHelpsInPart ? "yes, in part"
         : v == Verdict::kMixed       ? "mixed"
         : v == Verdict::kHarms       ? "no"
         : v == Verdict::kNotTaken    ? "not so far"
         : v == Verdict::kNegligible  ? hardly(bias)
         : nothing                    ? "nothing to gain"
                                      : "cannot tell";
}

/// What the mean costs where no arm has a bias: what one could gain.
void add_costs(const std::vector<Arm>& arms, Answer& out) {
  const LayerNames short_name(arms);
  bool in_steps = false;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    in_steps = arms[a].has(id::kLearning);
    const auto most = in_steps ? largest_of(arms[a], id::kLearning, steps_mean_costs)
                               : largest_of(arms[a], id::kKappas, mean_costs);
    if (!most) continue;
    out.threshold = "no cost";
    out.readings.push_back({a,
                            fmt::format("the mean costs {}× {}in {}",
                                        words(most->value),
                                        in_steps ? "the steps " : "",
                                        short_name(most->layer)),
                            most->lower
                                ? fmt::format("{}–{}×", words(*most->lower), words(*most->upper))
                                : "no interval",
                            gauge_of(*most)});
    const auto usual = usual_of(arms[a], id::kLearningMeanCosts, most->layer);
    if (!in_steps || !usual) continue;
    out.readings.back().gauge->usual = Interval{usual->low, usual->high};
    if (out.usual.empty())
      out.usual = fmt::format("{}× to {}×", words(usual->low), words(usual->high));
  }
  out.why = out.readings.empty()
                ? "What the mean of the features costs is not resolved in any layer."
            : in_steps
                ? "Steps to learn 90 % with the mean over those without it: what a bias could take "
                  "up at best; `kappascope advise` says more."
                : "κ(Σ+μμᵀ)/κ(Σ) is what a bias could take up at best; `kappascope advise` says "
                  "more.";
}

/// Of a training that did not work.
void give_up(Answer& out) {
  out.answer = "cannot tell";
  out.why += kOfFailedTraining;
  for (Reading& reading : out.readings) reading.gauge.reset();
}

}  // namespace

Answer bias(const std::vector<Arm>& arms) {
  const auto found = diagnose_bias(arms);
  Answer out{.id = "bias",
             .question = found.present ? "Does the bias b make layers learn faster?"
                                       : "Would a bias b make layers learn faster?",
             .answer = answer_of(found),
             .grade = found.grade,
             .figure = "intercept_absorption"};
  if (!found.present) {
    add_costs(arms, out);
    if (found.of_failed) give_up(out);
    return out;
  }
  const LayerNames short_name(arms);
  out.threshold = "no change";
  std::size_t better = 0, layers = 0;
  bool in_steps = false;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    const Effect effect = effect_of(a, found.layers);
    const auto all = std::accumulate(effect.layers.begin(), effect.layers.end(), std::size_t{0});
    if (all == 0) continue;
    in_steps = arms[a].has(id::kLearning);
    const char* what = in_steps ? "steps" : "κ";
    better += effect.lower;
    layers += all;
    Reading reading{
        a, fmt::format("{0} with the bias over {0} without it is not resolved in any layer", what)};
    if (effect.surest) {
      const Ratio& ratio = *effect.surest;
      reading.gauge = gauge_of(ratio);
      const std::string rivals =
          effect.rivals == 0 ? ""
          : effect.rivals + 1 == all
              ? " or any other"
              : fmt::format(" or {} other{}", effect.rivals, effect.rivals == 1 ? "" : "s");
      reading.number = fmt::format("within the run it changes {} most in {}{}: to {}× of {}",
                                   in_steps ? "the steps to learn 90 %" : "κ(Σ+μμᵀ)",
                                   short_name(ratio.layer),
                                   rivals,
                                   words(ratio.value),
                                   in_steps ? "those" : "it");
      reading.interval = fmt::format(
          "{}–{}×; {}", words(*ratio.lower), words(*ratio.upper), layers_text(effect, all));
    }
    out.readings.push_back(std::move(reading));
  }
  // Of κ the quotient of two intervals, of steps one of its own.
  if (!in_steps) out.interval = "interval, at least 90 %";
  out.why = fmt::format(
      "Within a run: {} of the W_d block with the learned bias over {} without it, on the same "
      "features; lower in {} of {} layers. The loss need not follow, and a difference between "
      "arms may come from their seeds alone.",
      in_steps ? "steps to learn 90 %" : "κ",
      in_steps ? "those" : "κ",
      better,
      layers);
  const auto loss = arms.size() == 2 ? diagnose_loss(arms[1], arms[0]) : std::nullopt;
  if (loss && loss->side == Side::kUndecided)
    out.readings.push_back({.arm = 1, .number = "its test loss is not surely another"});
  if (found.of_failed) give_up(out);
  return out;
}

}  // namespace kappascope::reports
