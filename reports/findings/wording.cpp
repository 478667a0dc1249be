// SPDX-License-Identifier: Apache-2.0
#include "reports/findings/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/ini.h"
#include "kappascope/core/error.h"

namespace kappascope::reports {

std::string loss_by_seed(const Arm& arm, const Arm& base) {
  const auto found = diagnose_loss(arm, base);
  if (!found) return "";
  const auto& difference = found->difference;
  return fmt::format(
      "From seed to seed the test loss differs by {} on average (95 %: {} to {}, {} pairs): {}.",
      decimals(difference.mean),
      decimals(difference.lower),
      decimals(difference.upper),
      difference.pairs,
      found->side == Side::kUndecided ? "it may be chance" : "more than chance");
}

std::string always_zero(const Arm& arm, const Evidence& dead) {
  const auto width = arm.last(id::kLayerWidth, dead.layer);
  return grouped(arm.last(dead.series, dead.layer)->scalar.value) +
         (width ? " of " + grouped(width->scalar.value) : "");
}

std::string setting_of(const Arm& arm, std::string_view wanted) {
  try {
    for (const auto& [name, value] : parse_ini(arm.fact("config"), ""))
      if (name == wanted) return value;
  } catch (const UsageError&) {
    // A configuration of the user's own.
  }
  return "";
}

namespace {

/// "cosine schedule"; of a loop that did not store one, how the rate went.
std::string schedule_of(const Arm& arm) {
  const auto schedule = setting_of(arm, "train.schedule");
  if (!schedule.empty()) return schedule + " schedule";
  const auto& rates = arm.series(id::kLearningRate);
  if (rates.empty()) return "no schedule stored";
  const auto [low, high] =
      std::ranges::minmax_element(rates, {}, [](const auto& point) { return point.scalar.value; });
  return low->scalar.value == high->scalar.value ? "constant rate"
                                                 : fmt::format("rate from {} to {}",
                                                               words(rates.front().scalar.value),
                                                               words(rates.back().scalar.value));
}

std::string step_in_words(std::int64_t step) {
  return grouped(static_cast<double>(step));
}

}  // namespace

Compared in_words(const Stability::Reading& reading) {
  auto out = as_share(reading.lambda.value, reading.limit);
  if (reading.bound) out.a = (reading.bound == Side::kBelow ? "at most " : "at least ") + out.a;
  return out;
}

std::string in_words(const Absorbed& absorbed) {
  const auto& [share, resolved, step] = absorbed;
  return !resolved ? "not resolved" : share < 0 ? "none" : percent(share);
}

std::string certainty_of(const Ratio& ratio) {
  const auto& [value, lower, upper, step, layer, paired, seeds] = ratio;
  if (!lower || !upper)
    return seeds > 0 ? "Not every seed has an interval." : "No interval was recorded.";
  if (seeds > 0)
    return fmt::format("{}: {}–{}×.", counted(seeds, "seed"), words(*lower), words(*upper));
  if (paired) {
    return fmt::format(
        "95 %: {}–{}× (in pairs of rows, step {}).", words(*lower), words(*upper), step);
  }
  return fmt::format("At least 90 %: {}–{}× (from the two 95 % intervals, step {}).",
                     words(*lower),
                     words(*upper),
                     step);
}

std::string steps_in_words(const store::Scalar& steps) {
  if (is_resolved(steps)) return words(steps.value);
  // Of a layer whose features are all alike there is nothing to learn.
  const double least = least_of(steps);
  return std::isnan(least) ? "undefined" : "at least " + words(least);
}

std::string too_early(const Arm& arm, std::int64_t step) {
  return fmt::format(
      "It was measured last at step {} of {}, at the start, which says little of the rest. A "
      "larger budget, or a smaller interval between windows, would measure it later.",
      step,
      arm.last_step);
}

std::string coverage_of(const Arm& arm, const Stability& stability) {
  const auto& readings = stability.readings;
  if (readings.empty()) return "";
  std::int64_t begin = 0, end = -1;  // of the longest stretch without
  std::int64_t next = 0;
  const auto close = [&](std::int64_t last) {
    if (last - next > end - begin) {
      begin = next;
      end = last;
    }
  };
  for (const auto& reading : readings) {
    close(reading.step - 1);
    next = reading.step + 1;
  }
  close(arm.last_step);
  const auto first = step_in_words(readings.front().step),
             last = step_in_words(readings.back().step);
  std::string text = fmt::format("Measured at {} of {} steps ({}), {}",
                                 step_in_words(static_cast<std::int64_t>(readings.size())),
                                 step_in_words(arm.last_step + 1),
                                 first == last ? first : first + " to " + last,
                                 schedule_of(arm));
  if (end >= begin) {
    text += fmt::format("; not from step {} to {}, the longest stretch without",
                        step_in_words(begin),
                        step_in_words(end));
  }
  return text + ".";
}

}  // namespace kappascope::reports
