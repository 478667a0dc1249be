// SPDX-License-Identifier: Apache-2.0
// The layer that learns slowest, or is worst conditioned where nobody measured how long it takes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "reports/figures/builders.h"
#include "reports/runs/layer_names.h"
#include "reports/summary/answers.h"

namespace kappascope::reports {
namespace {

std::string explained(const Arm& arm, const WorstLayer& worst) {
  const store::Scalar& s = worst.point->scalar;
  const char* about = is_resolved(s) ? "about" : "at least";
  if (worst.verdict == Verdict::kTooEarly) return too_early(arm, worst.point->step);
  if (worst.in_steps) {
    std::string text = fmt::format(
        "Plain gradient descent at the rate 1/λmax would need {}{} steps to learn 90 % of what "
        "this layer's features can represent; the run has {}.",
        is_resolved(s) ? "about " : "",
        steps_in_words(s),
        grouped(steps_of(arm)));
    if (worst.verdict != Verdict::kUndecided) return text;
    return text +
           " More sequences per window would resolve it: raise probes.window (window= in Python).";
  }
  if (worst.verdict == Verdict::kUndecided)
    return "The rows of a window do not resolve it: raise probes.window (window= in Python).";
  return fmt::format(
      "Gradient descent needs {} κ/2 = {}/2 = {} steps to shrink the slowest direction of this W_d "
      "by a factor e; the run has {}.",
      about,
      grouped(std::round(least_of(s))),
      grouped(std::ceil(least_of(s) / 2)),
      grouped(steps_of(arm)));
}

/// The layer is named where it is not the one that the answer names.
Reading reading_of(std::size_t a,
                   const WorstLayer& worst,
                   const std::string& named,
                   const LayerNames& short_name) {
  const store::Scalar& s = worst.point->scalar;
  const std::string where = s.layer == named ? "" : " in " + short_name(s.layer);
  if (worst.in_steps) {
    const auto text = fmt::format("90 % learned after {} steps{}", steps_in_words(s), where);
    if (is_resolved(s)) return {a, text, interval(s)};
    return {a,
            text,
            s.lower && s.upper && std::isfinite(*s.upper)
                ? fmt::format("{}: {}–{}", kind_of_interval(s), words(least_of(s)), words(*s.upper))
                : "not resolved: " + status_text(s)};
  }
  if (is_resolved(s)) return {a, fmt::format("κ = {}{}", words(s.value), where), interval(s)};
  const bool bounded = s.lower && *s.lower > 1;
  return {a,
          bounded ? fmt::format("κ is at least {}{}", words(*s.lower), where)
                  : fmt::format("κ{} is not resolved", where),
          "not resolved: " + status_text(s)};
}

/// "blocks.1 or blocks.0": which is the slowest, intervals that overlap do not say.
std::string named(const Arm& arm, const WorstLayer& worst, const LayerNames& short_name) {
  auto name = short_name(worst.point->scalar.layer);
  if (worst.of_failed) return "cannot tell";
  if (worst.grade == Grade::kOpen) return "perhaps " + name;
  if (worst.rivals.empty()) return name;
  const auto all =
      layers_of(arm, worst.in_steps ? std::string(id::kLearning) : std::string(id::kKappas));
  if (worst.rivals.size() + 1 == all.size()) return "none stands out";
  if (worst.rivals.size() == 1) return name + " or " + short_name(worst.rivals.front());
  return fmt::format("{}, or one of {} others", name, worst.rivals.size());
}

/// The first arm with a dead layer.
std::optional<std::pair<std::size_t, Diagnosis>> dead_layer(const std::vector<Arm>& arms) {
  for (std::size_t a = 0; a < arms.size(); ++a) {
    auto dead = diagnose_dead_units(arms[a]);
    if (dead.verdict == Verdict::kDeadLayer) return std::pair(a, std::move(dead));
  }
  return std::nullopt;
}

/// A layer that passes on half of what enters it, or nothing, is worse than the slowest.
void put_first(const Diagnosis& dead,
               std::size_t place,
               const std::vector<Arm>& arms,
               const LayerNames& short_name,
               Answer& out) {
  const Arm& arm = arms[place];
  const Evidence& at = dead.evidence.front();
  const auto later = arm.newest(block_steps(arm, at.layer), at.layer);
  const bool still = later && later->step > at.step && is_empty(later->scalar);
  out.question = "Which layer is worst?";
  out.answer = short_name(at.layer) + " is dead";
  out.grade = dead.grade;
  out.readings.insert(
      out.readings.begin(),
      {.arm = place,
       .number = fmt::format("{} features are zero in every row at step {}{}",
                             always_zero(arm, at),
                             at.step,
                             still ? fmt::format(", and none varies at step {}", later->step) : ""),
       .interval = "counted over all rows of the window"});
}

/// "; usual is 40 to 300", and how many layers of the run lie there.
std::string against_usual(const Arm& arm, const WorstLayer& worst) {
  if (!worst.in_steps) return "";
  if (!worst.usual) return " What is usual at this width and stage is not known.";
  const Usual& usual = *worst.usual;
  const LayersPlaced layers = placed_by_steps(arm);
  std::vector<std::string> parts;
  for (const auto& [count, where] : {std::pair(layers.below, "below"),
                                     std::pair(layers.within, "within"),
                                     std::pair(layers.above, "above")})
    if (count > 0) parts.push_back(fmt::format("{} {}", count, where));
  return fmt::format(
      " Usual are {} to {} steps: 80 % of {} of {} without a bias ({}){}.",
      words(usual.low),
      words(usual.high),
      counted(usual.layers, "layer"),
      counted(usual.runs, "reference run"),
      usual.of,
      parts.empty() ? "" : fmt::format("; of this run's layers {} that", listed(parts)));
}

}  // namespace

Answer worst_layer(const std::vector<Arm>& arms) {
  const auto found = worst_layers_of(arms);
  const LayerNames short_name(arms);
  const auto dead = dead_layer(arms);
  if (found.empty()) {
    Answer out{.id = "worst_layer",
               .question = "Which layer is worst conditioned?",
               .answer = "not measured",
               .why = "No condition number was stored: the features probe did not run.",
               .figure = "kappa_layers"};
    if (dead) put_first(dead->second, dead->first, arms, short_name, out);
    return out;
  }
  const auto& [first, worst] = found.front();
  const std::string& layer = worst.point->scalar.layer;
  Answer out{.id = "worst_layer",
             .question = worst.in_steps ? "Which layer learns slowest?"
                                        : "Which layer is worst conditioned?",
             .answer = named(arms[first], worst, short_name),
             .grade = worst.grade,
             .why = explained(arms[first], worst),
             .figure = worst.in_steps ? "learning_layers" : "kappa_layers"};
  out.threshold = worst.in_steps ? fmt::format("the run's {} steps", grouped(steps_of(arms[first])))
                                 : "twice the run's steps";
  // The layer is named where the answer does not.
  const bool is_named = !dead && out.answer.find(short_name(layer)) != std::string::npos;
  for (const auto& [a, of_arm] : found) {
    out.readings.push_back(reading_of(a, of_arm, is_named ? layer : "", short_name));
    if (of_arm.in_steps != worst.in_steps) continue;
    auto& gauge = out.readings.back().gauge;
    gauge = gauge_of(of_arm);
    if (gauge && worst.usual) gauge->usual = Interval{worst.usual->low, worst.usual->high};
  }
  if (worst.of_failed) std::ranges::for_each(out.readings, [](auto& one) { one.gauge.reset(); });
  if (worst.usual && out.readings.front().gauge)
    out.usual = fmt::format("{} to {}", words(worst.usual->low), words(worst.usual->high));
  out.why += against_usual(arms[first], worst);
  if (!worst.rivals.empty())
    out.why += fmt::format(" Its interval overlaps {} of {}: which of them is the slowest is open.",
                           worst.rivals.size() == 1 ? "that" : "those",
                           counted(worst.rivals.size(), "other layer"));
  if (worst.oldest_step < worst.newest_step)
    out.why += fmt::format(" The layers take turns: their numbers are of steps {} to {}.",
                           grouped(static_cast<double>(worst.oldest_step)),
                           grouped(static_cast<double>(worst.newest_step)));
  if (worst.of_failed) out.why += kOfFailedTraining;
  if (short_name(layer) != layer) out.why += " Its module: " + layer + ".";
  if (dead) put_first(dead->second, dead->first, arms, short_name, out);
  return out;
}

}  // namespace kappascope::reports
