// SPDX-License-Identifier: Apache-2.0
#include "reports/findings/stability.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/ini.h"
#include "kappascope/core/error.h"

namespace kappascope::reports {
namespace {

/// "cosine schedule"; of a loop that did not store one, how the rate went.
std::string schedule_of(const Arm& arm) {
  try {
    for (const auto& [name, value] : parse_ini(arm.fact("config"), ""))
      if (name == "train.schedule") return value + " schedule";
  } catch (const UsageError&) {
    // A configuration of the user's own.
  }
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

/// Of a training that had arm.last_step + 1 steps, where the readings lie.
std::string coverage_of(const Arm& arm, const std::vector<Stability::Reading>& readings) {
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
  std::string text = fmt::format("Measured at {} of {} steps ({} to {}), {}",
                                 step_in_words(static_cast<std::int64_t>(readings.size())),
                                 step_in_words(arm.last_step + 1),
                                 step_in_words(readings.front().step),
                                 step_in_words(readings.back().step),
                                 schedule_of(arm));
  if (end >= begin) {
    text += fmt::format("; not from step {} to {}, the longest stretch without",
                        step_in_words(begin),
                        step_in_words(end));
  }
  return text + ".";
}

}  // namespace

double rate_at(const Arm& arm, std::int64_t step) {
  const auto& rates = arm.series(id::kLearningRate);
  const auto after = std::ranges::upper_bound(rates, step, {}, &store::StepValue::step);
  return after == rates.begin() ? 0 : std::prev(after)->scalar.value;
}

const Stability::Reading& Stability::most() const {
  return *std::ranges::max_element(readings, {}, &Reading::share);
}

bool Stability::is_at_limit() const {
  return holds && std::ranges::any_of(readings, &Reading::is_above);
}

Stability descent_stability_of(const Arm& arm) {
  Stability out;
  for (const auto& [step, scalar] : arm.series(id::kHessianLambda.at(1))) {
    const double rate = rate_at(arm, step);
    if (rate > 0 && is_resolved(scalar) && std::isfinite(scalar.value))
      out.readings.push_back({step, &scalar, 2 / rate});
  }
  out.holds = !out.readings.empty() && arm.fact("optimizer") == "sgd";
  out.coverage = coverage_of(arm, out.readings);
  return out;
}

Stability stability_of(const Arm& arm) {
  Stability out{.own = true, .holds = true};
  const auto& limits = arm.series(id::kStabilityLimit);
  for (const auto& [step, scalar] : arm.series(id::kPreconditionedLambda)) {
    const auto limit = std::ranges::lower_bound(limits, step, {}, &store::StepValue::step);
    if (limit == limits.end() || limit->step != step || !(limit->scalar.value > 0)) continue;
    if (is_resolved(scalar) && std::isfinite(scalar.value))
      out.readings.push_back({step, &scalar, limit->scalar.value});
  }
  if (out.readings.empty()) return descent_stability_of(arm);
  out.coverage = coverage_of(arm, out.readings);
  return out;
}

}  // namespace kappascope::reports
