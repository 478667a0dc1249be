// SPDX-License-Identifier: Apache-2.0
#include "reports/diagnosis/usual.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "reports/figures/builders.h"
#include "reports/number_format.h"
#include "reports/runs/groups.h"

extern "C" {
extern const char kappascope_usual_begin[], kappascope_usual_end[];  // usual.S
}

namespace kappascope::reports {
namespace {

struct Span {
  double first = 0, last = 0;

  [[nodiscard]] bool holds(double x) const { return first <= x && x <= last; }
};

struct Reference {
  std::string series{};
  bool in_sequences = false;
  Span width{}, steps{};
  Usual usual{};
};

Span span_of(const nlohmann::json& json) {
  return {json.at(0), json.at(1)};
}

std::vector<Reference> parse(std::string_view text) {
  std::vector<Reference> out;
  for (const auto& row : nlohmann::json::parse(text)) {
    Reference one{.series = row.at("series"),
                  .in_sequences = row.at("rows") == "sequences",
                  .width = span_of(row.at("width")),
                  .steps = span_of(row.at("steps")),
                  .usual = {.low = row.at("low"),
                            .high = row.at("high"),
                            .layers = row.at("layers"),
                            .runs = row.at("runs")}};
    std::vector<std::string> widths;
    for (const double width : row.at("widths")) widths.push_back(grouped(width));
    one.usual.of = fmt::format("of {} features{}, after {} to {} steps",
                               listed(widths),
                               one.in_sequences ? " in sequences" : "",
                               grouped(one.steps.first),
                               grouped(one.steps.last));
    out.push_back(std::move(one));
  }
  return out;
}

const std::vector<Reference>& references() {
  static const auto all = parse({kappascope_usual_begin, kappascope_usual_end});
  return all;
}

}  // namespace

std::optional<Usual> usual_of(const Arm& arm, const std::string& series, const std::string& layer) {
  const auto width = arm.last(id::kLayerWidth, layer);
  const auto rows = runs_of(arm).front()->last(id::kLearningSecondMoment, layer);
  if (!width || !rows || !rows->scalar.n || !rows->scalar.n_effective) return std::nullopt;
  const std::string wanted =
      series == id::kLearningWithBias ? std::string(id::kLearningSecondMoment) : series;
  const bool in_sequences = *rows->scalar.n_effective < *rows->scalar.n;
  for (const auto& one : references()) {
    if (one.series == wanted && one.in_sequences == in_sequences &&
        one.width.holds(width->scalar.value) && one.steps.holds(static_cast<double>(rows->step)))
      return one.usual;
  }
  return std::nullopt;
}

LayersPlaced placed_by_steps(const Arm& arm) {
  LayersPlaced out;
  for (const auto& layer : layers_of(arm, id::kLearning)) {
    const std::string series = block_steps(arm, layer);
    const auto point = arm.newest(series, layer);
    const auto usual = usual_of(arm, series, layer);
    if (!point || !usual || !is_resolved(point->scalar)) continue;
    auto& place = point->scalar.value < usual->low    ? out.below
                  : point->scalar.value > usual->high ? out.above
                                                      : out.within;
    ++place;
  }
  return out;
}

}  // namespace kappascope::reports
