// SPDX-License-Identifier: Apache-2.0
#include "reports/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "kappascope/core/statistics.h"
#include "reports/runs/groups.h"
#include "reports/summary/answers.h"

namespace kappascope::reports {
namespace {

/// What all arms share, or each one's where they are few.
std::string shared(const std::vector<Arm>& arms,
                   const std::function<std::string(const Arm&)>& of,
                   const std::string& what) {
  std::vector<std::string> values;
  for (const Arm& arm : arms) {
    if (auto value = of(arm); !value.empty() && std::ranges::find(values, value) == values.end())
      values.push_back(std::move(value));
  }
  constexpr std::size_t kFew = 2;
  if (values.empty()) return "";
  if (values.size() > kFew) return fmt::format("{} different {}", values.size(), what);
  return fmt::format("{}", fmt::join(values, " / "));
}

std::string with_unit(const std::string& value, const char* before, const char* after) {
  return value.empty() ? "" : before + value + after;
}

/// The largest, and how it went: "rate 10⁻³, cosine schedule".
std::string rate_of(const Arm& arm) {
  double least = 0, largest = 0;
  for (const auto& point : arm.series(id::kLearningRate)) {
    largest = std::max(largest, point.scalar.value);
    least = least == 0 ? largest : std::min(least, point.scalar.value);
  }
  if (!(largest > 0)) return "";
  const auto schedule = setting_of(arm, "train.schedule");
  return "rate " + words(largest) +
         (!schedule.empty() ? ", " + schedule + " schedule"
          : least < largest ? " at most"
                            : "");
}

std::string batch_of(const Arm& arm) {
  return with_unit(setting_of(arm, "train.batch"), "batch ", "");
}

/// Without the folder that the data lie in: "kjv.txt (61937 training, 6881 test windows)".
std::string data_of(const Arm& arm) {
  const auto data = arm.fact("data");
  const auto slash = data.rfind('/', data.find(" ("));
  return slash == std::string::npos ? data : data.substr(slash + 1);
}

/// As the last window had it: rows of a step over the seconds that one took.
std::optional<double> rows_per_second(const Arm& arm) {
  const auto rows = arm.last(id::kStepRows);
  if (!rows) return std::nullopt;
  std::optional<double> seconds;
  for (const auto& point : arm.series(id::kStepSeconds))
    if (point.step <= rows->step) seconds = point.scalar.value;
  if (!seconds) return std::nullopt;
  return rows->scalar.value / *seconds;
}

/// "8,190 to 9,220 rows (tokens or images) a second", to three digits.
std::string speed_of(const std::vector<Arm>& arms) {
  std::set<double> speeds;
  for (const Arm& arm : arms) {
    const auto speed = rows_per_second(arm);
    if (!speed || !std::isfinite(*speed) || !(*speed > 0)) continue;
    const double unit = std::pow(10, std::floor(std::log10(*speed)) - 2);
    speeds.insert(std::round(*speed / unit) * unit);
  }
  if (speeds.empty()) return "";
  const auto text = [](double speed) { return speed < 100 ? words(speed) : grouped(speed); };
  const auto slowest = text(*speeds.begin()), fastest = text(*speeds.rbegin());
  return (slowest == fastest ? slowest : slowest + " to " + fastest) +
         " rows (tokens or images) a second";
}

std::string facts_of(const std::vector<Arm>& arms) {
  const auto fact = [](const char* key, const char* before = "", const char* after = "") {
    return [=](const Arm& arm) { return with_unit(arm.fact(key), before, after); };
  };
  const auto parameters = [](const Arm& arm) {
    const auto text = arm.fact("parameters");
    return text.empty() ? "" : grouped(std::strtod(text.c_str(), nullptr)) + " parameters";
  };
  const auto steps = [](const Arm& arm) { return grouped(steps_of(arm)) + " steps"; };
  std::vector<std::string> parts = {shared(arms, fact("model"), "models"),
                                    shared(arms, parameters, "sizes"),
                                    shared(arms, data_of, "data sets"),
                                    shared(arms, fact("optimizer"), "optimisers"),
                                    shared(arms, rate_of, "learning rates"),
                                    shared(arms, batch_of, "batches"),
                                    shared(arms, steps, "lengths"),
                                    speed_of(arms),
                                    shared(arms, fact("seed", "seed "), "seeds")};
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, " · "));
}

}  // namespace

Summary summarise(const std::vector<Arm>& arms) {
  Summary out;
  const auto headline = headline_of(arms);
  out.headline = headline.text;
  out.certainty = headline.certainty;
  out.basis = headline.basis;
  out.facts = facts_of(arms);
  out.answers = {
      worst_layer(arms), learning_rate(arms), bias(arms), trust_and_cost(arms), next_step(arms)};
  return out;
}

std::optional<Gauge> gauge_of(const Diagnosis& answer) {
  if (!answer.threshold || !(*answer.threshold > 0) || !(answer.value || answer.lower))
    return std::nullopt;
  return Gauge{.value = answer.value,
               .lower = answer.lower,
               .upper = answer.upper,
               .threshold = *answer.threshold};
}

}  // namespace kappascope::reports
