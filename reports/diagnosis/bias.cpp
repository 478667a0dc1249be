// SPDX-License-Identifier: Apache-2.0
// Does the post-gating bias help, and would one where there is none?
#include <algorithm>
#include <set>
#include <utility>

#include "reports/diagnosis/questions.h"
#include "reports/figures/builders.h"

namespace kappascope::reports {
namespace {

/// With a bias by what it changes; else, or where that is not told, by what the mean costs.
Verdict verdict_of(const Arm& arm, const LayerBias& layer) {
  if (is_of_the_start(arm, layer.step)) return Verdict::kTooEarly;
  const Side changes = side_of(layer.bias_changes, 1);
  const bool negligible = is_negligible(layer.bias_changes);
  if (changes == Side::kBelow && !negligible) return Verdict::kHelps;
  if (changes == Side::kAbove && !negligible) return Verdict::kHarms;
  const Side costs = side_of(layer.mean_costs, kWorthwhile);
  if (costs == Side::kAbove) {
    if (layer.has_bias) return Verdict::kNotTaken;
    const bool unusual =
        !layer.usual || side_of(layer.mean_costs, layer.usual->high) == Side::kAbove;
    return unusual ? Verdict::kWorthATrial : Verdict::kUsual;
  }
  if (negligible) return Verdict::kNegligible;
  if (side_of(layer.mean_costs, 1) == Side::kBelow) return Verdict::kMeanHelps;
  return costs == Side::kBelow ? Verdict::kNothingToGain : Verdict::kUndecided;
}

LayerBias layer_of(const Arm& arm, std::size_t place, const std::string& name, bool in_steps) {
  const auto point =
      in_steps ? arm.newest(block_steps(arm, name), name) : arm.last(id::kKappaSecondMoment, name);
  LayerBias out{.arm = place,
                .layer = name,
                .step = !point ? 0 : point->step,
                .has_bias = has_bias(arm, name),
                .in_steps = in_steps,
                .mean_costs = in_steps ? steps_mean_costs(arm, name) : mean_costs(arm, name),
                .bias_leaves = in_steps ? steps_bias_leaves(arm, name) : bias_leaves(arm, name),
                .bias_changes = in_steps ? steps_bias_changes(arm, name) : bias_changes(arm, name)};
  if (in_steps) out.usual = usual_of(arm, id::kLearningMeanCosts, name);
  out.decided = verdict_of(arm, out);
  return out;
}

/// The ratio that decides is what the mean costs: without a bias, and where the bias has not taken
/// that up.
bool is_of_the_mean(const LayerBias& layer) {
  return !layer.has_bias || layer.decided == Verdict::kNotTaken ||
         layer.decided == Verdict::kUsual || layer.decided == Verdict::kMeanHelps ||
         layer.decided == Verdict::kNothingToGain;
}

void rest_on(BiasDiagnosis& out, const LayerBias& layer) {
  const bool mean = is_of_the_mean(layer);
  const auto& ratio = mean ? layer.mean_costs : layer.bias_changes;
  const store::SeriesId costs = layer.in_steps ? id::kLearningMeanCosts : id::kKappaMeanCosts;
  const store::SeriesId with = layer.in_steps ? id::kLearningWithBias : id::kKappaWithBias;
  out.evidence = {{mean ? costs : with, layer.layer, layer.step}};
  out.threshold = mean || layer.decided == Verdict::kNegligible ? kWorthwhile : 1;
  if (!ratio) return;
  out.value = ratio->value;
  out.lower = ratio->lower;
  out.upper = ratio->upper;
}

}  // namespace

BiasDiagnosis diagnose_bias(std::span<const Arm> arms) {
  BiasDiagnosis out;
  out.question = Question::kBias;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    const bool in_steps = arms[a].has(id::kLearning);
    for (const auto& name :
         layers_of(arms[a], in_steps ? std::string(id::kLearning) : std::string(id::kKappas)))
      out.layers.push_back(layer_of(arms[a], a, name, in_steps));
  }
  if (out.layers.empty()) return out;
  std::set<std::size_t> with_bias;  // arms; the others are what they are compared with
  for (const auto& layer : out.layers)
    if (layer.has_bias) with_bias.insert(layer.arm);
  out.present = !with_bias.empty();
  auto judged = out.layers;
  std::erase_if(judged, [&](const LayerBias& layer) {
    return out.present && !with_bias.contains(layer.arm);
  });
  const auto with = std::ranges::count(judged, true, &LayerBias::has_bias);
  const auto count = [&](Verdict verdict) {
    return std::ranges::count(judged, verdict, &LayerBias::decided);
  };
  const auto helps = count(Verdict::kHelps), harms = count(Verdict::kHarms);
  if (helps > 0) {
    out.verdict = harms > 0       ? Verdict::kMixed
                  : helps == with ? Verdict::kHelps
                                  : Verdict::kHelpsInPart;
    out.grade = harms > 0 ? Grade::kWatch : Grade::kGood;
  } else if (harms > 0) {
    out.verdict = Verdict::kHarms;
    const bool much = std::ranges::any_of(judged, [](const LayerBias& layer) {
      return side_of(layer.bias_changes, kWorthwhile) == Side::kAbove;
    });
    out.grade = much ? Grade::kBad : Grade::kWatch;
  } else {
    // Without a bias what one could gain: where there is something, or where it is not told.
    out.verdict = Verdict::kUndecided;
    for (const Verdict verdict : {Verdict::kWorthATrial,
                                  Verdict::kNotTaken,
                                  Verdict::kUsual,
                                  Verdict::kUndecided,
                                  Verdict::kNegligible,
                                  Verdict::kTooEarly,
                                  Verdict::kNothingToGain,
                                  Verdict::kMeanHelps}) {
      // Layers that a run has not come to again say nothing against those that it has.
      const bool few =
          verdict == Verdict::kNegligible && count(verdict) < count(Verdict::kTooEarly);
      if (count(verdict) == 0 || few) continue;
      out.verdict = verdict;
      break;
    }
    if (out.verdict == Verdict::kNothingToGain || out.verdict == Verdict::kMeanHelps ||
        out.verdict == Verdict::kUsual || out.verdict == Verdict::kNegligible)
      out.grade = Grade::kGood;
    if (out.verdict == Verdict::kNotTaken) out.grade = Grade::kWatch;
  }
  if (count(Verdict::kWorthATrial) > 0) {
    out.grade = std::max(out.grade, Grade::kWatch);
    out.action = Action::kTryBias;
  }
  out.of_failed =
      std::ranges::all_of(arms, [](const Arm& arm) { return rise_of(arm).has_value(); });
  if (out.of_failed) {
    out.grade = Grade::kOpen;
    out.action.reset();
  }
  const Verdict wanted = out.action                             ? Verdict::kWorthATrial
                         : out.verdict == Verdict::kHelpsInPart ? Verdict::kHelps
                         : out.verdict == Verdict::kMixed       ? Verdict::kHarms
                                                                : out.verdict;
  const auto surest = [&](const LayerBias& layer) {
    return std::pair(layer.decided == wanted,
                     sure_factor(is_of_the_mean(layer) ? layer.mean_costs : layer.bias_changes));
  };
  rest_on(out, *std::ranges::max_element(judged, {}, surest));
  return out;
}

}  // namespace kappascope::reports
