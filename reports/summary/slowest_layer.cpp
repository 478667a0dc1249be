// SPDX-License-Identifier: Apache-2.0
// Which layer learns slowest, in steps of gradient descent, and does that matter in a run of this
// length?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reports/figures/builders.h"
#include "reports/runs/layer_names.h"
#include "reports/summary/answers.h"

namespace kappascope::reports {
namespace {

/// Within so many times less than the run, a layer's time to learn is no limit.
constexpr double kTimesOver = 3;

double lowest(const store::Scalar& steps) {
  return is_resolved(steps) ? steps.value : steps.lower.value_or(1);
}

/// By the interval where there is one, so that a number that is not resolved may still decide.
Grade grade_of_steps(const store::Scalar& steps, double trained) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double lower = steps.lower.value_or(steps.value);
  const double upper = steps.upper.value_or(is_resolved(steps) ? steps.value : infinity);
  if (kTimesOver * upper <= trained) return Grade::kGood;
  if (lower > trained) return Grade::kBad;
  return is_resolved(steps) ? Grade::kWatch : Grade::kOpen;
}

std::string explained_steps(const store::Scalar& steps, double trained, Grade grade) {
  const std::string needs = (is_resolved(steps) ? "about " : "") + steps_in_words(steps);
  std::string text = fmt::format(
      "Plain gradient descent at the rate 1/λmax would need {} steps to learn 90 % of what this "
      "layer's features can represent; the run has {}.",
      needs,
      grouped(trained));
  if (grade == Grade::kOpen)
    text += " More sequences a window would tell: raise probes.window (window= in Python).";
  return text;
}

Reading reading_of_steps(std::size_t a,
                         const WorstLayer& slowest,
                         const std::string& named,
                         const LayerNames& short_name) {
  const store::Scalar& steps = slowest.point->scalar;
  const std::string where = slowest.layer == named ? "" : " in " + short_name(slowest.layer);
  const auto text = fmt::format("90 % after {} steps{}", steps_in_words(steps), where);
  if (is_resolved(steps)) return {a, text, interval(steps)};
  return {a,
          text,
          steps.upper && std::isfinite(*steps.upper)
              ? fmt::format("95 %: {}–{}", words(lowest(steps)), words(*steps.upper))
              : "not resolved: " + status_text(steps)};
}

}  // namespace

std::string steps_in_words(const store::Scalar& steps) {
  return is_resolved(steps) ? words(steps.value) : "at least " + words(lowest(steps));
}

WorstLayer slowest_layer_of(const Arm& arm) {
  WorstLayer slowest;
  for (const auto& layer : layers_of(arm, id::kLearning)) {
    const auto* point = arm.newest(block_steps(arm, layer), layer);
    if (point == nullptr) continue;
    if (slowest.point == nullptr || lowest(point->scalar) > lowest(slowest.point->scalar))
      slowest = {layer, point, true};
  }
  return slowest;
}

std::string slowest_layer_of(const std::vector<Arm>& arms) {
  WorstLayer slowest;
  for (const Arm& arm : arms) {
    auto one = slowest_layer_of(arm);
    if (one.point == nullptr) continue;
    if (slowest.point == nullptr || lowest(one.point->scalar) > lowest(slowest.point->scalar))
      slowest = std::move(one);
  }
  return slowest.layer;
}

std::optional<Answer> slowest_layer(const std::vector<Arm>& arms) {
  std::vector<std::pair<std::size_t, WorstLayer>> found;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    if (auto slowest = slowest_layer_of(arms[a]); slowest.point != nullptr)
      found.emplace_back(a, std::move(slowest));
  }
  if (found.empty()) return std::nullopt;
  std::ranges::stable_sort(found, [](const auto& x, const auto& y) {
    return lowest(x.second.point->scalar) > lowest(y.second.point->scalar);
  });
  Answer out{
      .id = "worst_layer", .question = "Which layer learns slowest?", .figure = "learning_layers"};
  const auto& [first, slowest] = found.front();
  const LayerNames short_name(arms);
  for (const auto& [a, of_arm] : found)
    out.readings.push_back(reading_of_steps(a, of_arm, slowest.layer, short_name));
  const double trained = steps_of(arms[first]);
  out.answer = short_name(slowest.layer);
  out.grade = grade_of_steps(slowest.point->scalar, trained);
  out.why = explained_steps(slowest.point->scalar, trained, out.grade);
  if (out.answer != slowest.layer) out.why += " Its module: " + slowest.layer + ".";
  return out;
}

}  // namespace kappascope::reports
