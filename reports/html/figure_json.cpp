// SPDX-License-Identifier: Apache-2.0
#include "reports/html/figure_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>

#include "reports/figures/builders.h"

namespace kappascope::reports {

using Json = nlohmann::ordered_json;

namespace {

Json number(double value, int digits = 9) {
  if (std::isnan(value)) return nullptr;
  const auto text = fmt::format("{:.{}g}", value, digits);
  // Rounding carries the largest numbers beyond what there is.
  if (std::isinf(std::strtod(text.c_str(), nullptr))) return value > 0 ? "inf" : "-inf";
  return Json::parse(text);
}

template <typename Range, typename One>
Json list(const Range& range, const One& one) {
  auto out = Json::array();
  for (const auto& item : range) out.push_back(one(item));
  return out;
}

void add_numbers(Json& out, const char* key, const std::vector<double>& values, int digits = 9) {
  if (!values.empty()) out[key] = list(values, [&](double v) { return number(v, digits); });
}

Json json_of(const Axis& axis) {
  Json out = {{"title", axis.title},
              {"log", axis.log},
              {"min", number(axis.min)},
              {"max", number(axis.max)},
              {"ticks",
               list(axis.ticks,
                    [](const Tick& t) {
                      return Json{number(t.at), t.label};
                    })},
              {"categories", axis.categories}};
  if (axis.threshold > 0) out["threshold"] = number(axis.threshold);
  return out;
}

}  // namespace

Json series_json(const Series& series) {
  static constexpr std::array<const char*, 4> kDashes = {"solid", "dash", "dot", "dashdot"};
  Json out = {{"arm", series.arm},
              {"panel", series.panel},
              {"points", series.draw == Draw::kPoints},
              {"dash", kDashes[static_cast<std::size_t>(series.dash)]},
              {"faint", series.faint},
              {"layer", series.layer},
              {"quantity", series.quantity}};
  add_numbers(out, "x", series.x);
  add_numbers(out, "y", series.y);
  add_numbers(out, "shade", series.shade, 4);
  add_numbers(out, "shown", series.shown, 6);
  add_numbers(out, "until", series.until);
  add_numbers(out, "lower", series.lower, 6);
  add_numbers(out, "upper", series.upper, 6);
  if (std::ranges::any_of(series.hollow, [](auto h) { return h != 0; }))
    out["hollow"] = list(series.hollow, [](auto h) { return h != 0 ? 1 : 0; });
  const bool same =
      std::ranges::adjacent_find(series.hover, std::not_equal_to<>()) == series.hover.end();
  if (!series.hover.empty() && same) out["note"] = series.hover.front();
  if (!same) out["notes"] = series.hover;
  return out;
}

Json figure_json(const Figure& figure) {
  Json out = {{"id", figure.id},
              {"title", figure.title},
              {"x", json_of(figure.x)},
              {"columns", figure.columns}};
  out["panels"] = list(figure.panels, [](const Panel& panel) {
    Json one = {{"title", panel.title}};
    if (!panel.layer.empty()) one["layer"] = panel.layer;
    one.update({{"height", panel.height}, {"y", json_of(panel.y)}});
    return one;
  });
  out["series"] = list(figure.series, series_json);
  out["lines"] = list(figure.lines, [](const ReferenceLine& line) {
    return Json{{"panel", line.panel}, {"label", line.label}, {"y", number(line.y)}};
  });
  if (figure.marks.empty()) return out;
  out["marks"] = list(figure.marks, [](const StepMark& mark) {
    Json one = {{"arm", mark.arm}, {"label", mark.label}, {"x", number(mark.x)}};
    if (mark.non_finite) one["nonFinite"] = true;
    return one;
  });
  return out;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<std::string> picked_layers(const std::vector<Figure>& figures,
                                       const std::vector<std::string>& named) {
  constexpr std::size_t kPicked = 3;
  std::map<std::string, double> worst;
  for (const Figure& figure : figures) {
    for (const Panel& panel : figure.panels) {
      if (!panel.layer.empty()) worst.emplace(panel.layer, 0);
    }
  }
  if (worst.size() <= kManyLayers) return {};
  for (const Figure& figure : figures) {
    if (!figure.id.ends_with("kappa_layers")) continue;
    for (const Series& series : figure.series) {
      if (series.dash != Dash::kSolid) continue;  // not of the block
      const auto last =
          std::find_if(series.y.rbegin(), series.y.rend(), [](double v) { return !std::isnan(v); });
      if (last != series.y.rend()) worst[series.layer] = std::max(worst[series.layer], *last);
    }
  }
  std::vector<std::string> layers;
  layers.reserve(worst.size());
  for (const auto& [layer, kappa] : worst) layers.push_back(layer);
  std::ranges::stable_sort(layers,
                           [&](const auto& a, const auto& b) { return worst[a] > worst[b]; });
  std::stable_partition(layers.begin(), layers.end(), [&](const std::string& layer) {
    return std::ranges::find(named, layer) != named.end();
  });
  layers.resize(kPicked);
  return layers;
}

std::string figures_json(const std::vector<Arm>& arms,
                         const std::vector<Figure>& figures,
                         const std::vector<std::string>& named) {
  auto drawn = Json::array();
  for (const Figure& figure : figures) {
    if (!figure.panels.empty()) drawn.push_back(figure_json(figure));
  }
  return text_of({{"arms", list(arms, [](const Arm& arm) { return arm.label; })},
                  {"light", kLightColours},
                  {"dark", kDarkColours},
                  {"picked", picked_layers(figures, named)},
                  {"figures", std::move(drawn)}});
}

}  // namespace kappascope::reports
