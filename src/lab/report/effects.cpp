// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "lab/report/builders.h"
#include "reports/number_format.h"

namespace kappascope::reports {
namespace {

/// Up to so many names stand side by side in half a page.
constexpr std::size_t kNarrow = 4;
/// Letters that stand side by side in the width of a page.
constexpr std::size_t kLetters = 140;

/// The unit of a metric, where it has one.
std::string unit_of(const std::string& metric) {
  if (id::kMemory.contains(metric)) return " (bytes)";
  return id::kAccuracies.contains(metric) ? " (share)" : "";
}

/// "dropout 0, noise 1": the names {"dropout", "noise"} and the values {"0", "1"}.
struct Settings {
  std::vector<std::string> names{}, values{};
};

Settings settings_of(std::string condition) {
  Settings settings;
  while (!condition.empty()) {
    const auto comma = condition.find(", ");
    const std::string part = condition.substr(0, comma);
    condition.erase(0, comma == std::string::npos ? comma : comma + 2);
    const auto space = part.rfind(' ');
    settings.names.push_back(space == std::string::npos ? "" : part.substr(0, space));
    settings.values.push_back(space == std::string::npos ? part : part.substr(space + 1));
  }
  return settings;
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

/// The words in lines of `width` letters; a longer word has its own.
std::string wrapped(const std::string& text, std::size_t width) {
  std::istringstream words(text);
  std::string out;
  std::size_t used = 0;
  for (std::string word; words >> word; used += word.size()) {
    if (!out.empty()) {
      const bool fits = used + 1 + word.size() <= width;
      out += fits ? ' ' : '\n';
      used = fits ? used + 1 : 0;
    }
    out += word;
  }
  return out;
}

/// Values alone where all conditions are of the same settings, which the title names then.
void set_conditions(Axis& x, const std::vector<std::string>& conditions, std::size_t width) {
  const auto first = settings_of(conditions.front());
  const bool same = std::ranges::all_of(conditions, [&](const std::string& condition) {
    return settings_of(condition).names == first.names;
  });
  x.title = same ? joined(first.names, ", below it ") : "condition";
  for (const auto& condition : conditions) {
    x.ticks.push_back(
        {static_cast<double>(x.ticks.size()),
         same ? joined(settings_of(condition).values, "\n") : wrapped(condition, width)});
  }
}

std::string hover_of(const study::Comparison& c) {
  std::string text = c.condition.empty() ? "" : c.condition + "; ";
  text += fmt::format("medians {} and {}, {} pair{}",
                      decimals(c.arm_median),
                      decimals(c.control_median),
                      c.difference.pairs,
                      c.difference.pairs == 1 ? "" : "s");
  if (c.difference.left_out > 0) text += fmt::format(", {} left out", c.difference.left_out);
  if (!std::isnan(c.corrected_p)) text += ", p " + decimals(c.corrected_p) + " (Holm)";
  return text;
}

void add_point(Series& series, double x, const study::Comparison& c) {
  series.x.push_back(x);
  series.y.push_back(c.difference.mean);
  series.lower.push_back(c.difference.lower);
  series.upper.push_back(c.difference.upper);
  series.hollow.push_back(c.is_significant() ? 0 : 1);
  series.hover.push_back(hover_of(c));
}

}  // namespace

Figure effects(const StudyView& study) {
  const bool grid = study.conditions.size() > 1;
  const std::size_t others = study.arms.size() - 1;
  const std::size_t places = grid ? study.conditions.size() : others;
  Figure figure{.id = "effects", .title = "Differences to " + study.control};
  figure.hollow = "not significantly different from " + study.control;
  figure.columns = places <= kNarrow && study.metrics.size() > 1 ? 2 : 1;
  figure.x.categories = true;
  const std::size_t width = std::max<std::size_t>(4, kLetters / figure.columns / places);
  if (grid) {
    set_conditions(figure.x, study.conditions, width);
  } else {
    figure.x.title = "arm";
    for (std::size_t a = 1; a <= others; ++a)
      figure.x.ticks.push_back({static_cast<double>(a - 1), wrapped(study.arms[a], width)});
  }
  // Arms stand side by side: the same place would hide one bar behind the other.
  const double apart = std::min(0.16, 0.6 / static_cast<double>(others));
  for (const auto& metric : study.metrics) {
    const std::size_t panel = figure.panels.size();
    figure.panels.push_back({.title = metric + ", difference to " + study.control,
                             .y = {.title = "difference" + unit_of(metric), .whole_bounds = true},
                             .height = 1.4});
    figure.lines.push_back({panel, 0, ""});
    for (std::size_t a = 1; a <= others; ++a) {
      Series series{.arm = a,
                    .quantity = "difference of " + metric + " to " + study.control,
                    .panel = panel,
                    .draw = Draw::kPoints};
      const double shift =
          (static_cast<double>(a - 1) - static_cast<double>(others - 1) / 2) * apart;
      for (std::size_t c = 0; c < study.conditions.size(); ++c) {
        const auto* found = study.compared(metric, study.conditions[c], study.arms[a]);
        if (found == nullptr) continue;
        add_point(
            series, grid ? static_cast<double>(c) + shift : static_cast<double>(a - 1), *found);
      }
      if (!series.x.empty()) figure.series.push_back(std::move(series));
    }
  }
  figure.caption = fmt::format(
      "Mean of the differences to {} between runs of one seed, with its 95 % interval; above the "
      "dashed line the arm has the higher value. Filled where the difference is significant: p < "
      "{}, "
      "corrected for all tests made at once (Holm).",
      study.control,
      study::kLevel);
  return figure;
}

}  // namespace kappascope::reports
