// SPDX-License-Identifier: Apache-2.0
#include "reports/live/change.h"

#include <algorithm>
#include <bit>
#include <map>

#include "reports/html/figure_json.h"

namespace kappascope::reports {
namespace {

using Json = nlohmann::ordered_json;

// Every list of a series that has a value a point.
template <typename One>
void each_list(const One& one) {
  one(&Series::x);
  one(&Series::y);
  one(&Series::lower);
  one(&Series::upper);
  one(&Series::shade);
  one(&Series::shown);
  one(&Series::until);
  one(&Series::hollow);
  one(&Series::hover);
}

bool equal(const std::string& a, const std::string& b) {
  return a == b;
}
bool equal(std::uint8_t a, std::uint8_t b) {
  return a == b;
}
bool equal(double a, double b) {  // also of what is no number
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// How many points two series have in common, from the first one on.
std::size_t common_points(const Series& a, const Series& b) {
  std::size_t count = std::min(a.x.size(), b.x.size());
  each_list([&](auto list) {
    const auto& left = a.*list;
    const auto& right = b.*list;
    if (left.empty() && right.empty()) return;
    std::size_t same = 0;
    const std::size_t end = std::min({count, left.size(), right.size()});
    while (same < end && equal(left[same], right[same])) ++same;
    count = same;
  });
  return count;
}

/// The series with its points from `from` on.
Series tail_of(const Series& series, std::size_t from) {
  Series out{.arm = series.arm,
             .layer = series.layer,
             .quantity = series.quantity,
             .panel = series.panel,
             .draw = series.draw,
             .dash = series.dash,
             .faint = series.faint};
  each_list([&](auto list) {
    const auto& all = series.*list;
    if (!all.empty())
      (out.*list).assign(all.begin() + static_cast<std::ptrdiff_t>(from), all.end());
  });
  return out;
}

Json without_points(const Series& series) {
  return series_json(tail_of(series, series.x.size()));
}

/// The figure but for its series.
Json frame_json(const Figure& figure) {
  return figure_json({.id = figure.id,
                      .title = figure.title,
                      .x = figure.x,
                      .columns = figure.columns,
                      .panels = figure.panels,
                      .lines = figure.lines,
                      .marks = figure.marks});
}

bool same_series(const Figure& a, const Figure& b) {
  return std::ranges::equal(a.series, b.series, {}, without_points, without_points);
}

/// Null where nothing changed.
Json figure_change(const Figure& before, const Figure& now) {
  if (!same_series(before, now)) return {{"whole", figure_json(now)}};
  Json change = {{"id", now.id}}, tails = Json::array();
  for (std::size_t s = 0; s < now.series.size(); ++s) {
    const Series& series = now.series[s];
    const std::size_t common = common_points(before.series[s], series);
    if (common == series.x.size() && common == before.series[s].x.size()) continue;
    tails.push_back(
        {{"series", s}, {"from", common}, {"tail", series_json(tail_of(series, common))}});
  }
  if (auto frame = frame_json(now); frame != frame_json(before)) change["frame"] = std::move(frame);
  if (tails.empty() && change.size() == 1) return nullptr;
  change["tails"] = std::move(tails);
  return change;
}

std::vector<std::string> places_of(const std::vector<PagePart>& parts) {
  std::vector<std::string> places;
  places.reserve(parts.size());
  for (const auto& part : parts)
    places.push_back(part.home.empty() ? part.id : part.home + "/" + part.id);
  return places;
}

std::vector<std::string> drawn(const std::vector<Figure>& figures) {
  std::vector<std::string> ids;
  for (const auto& figure : figures) {
    if (!figure.panels.empty()) ids.push_back(figure.id);
  }
  return ids;
}

Json figures_change(const std::vector<Figure>& before, const std::vector<Figure>& now) {
  std::map<std::string, const Figure*> known;
  for (const auto& figure : before) {
    if (!figure.panels.empty()) known.emplace(figure.id, &figure);
  }
  Json out = Json::array();
  for (const auto& figure : now) {
    if (figure.panels.empty()) continue;
    const auto found = known.find(figure.id);
    auto one = found == known.end() ? Json{{"whole", figure_json(figure)}}
                                    : figure_change(*found->second, figure);
    if (!one.is_null()) out.push_back(std::move(one));
  }
  return out;
}

void add_html(const std::vector<PagePart>& before, const std::vector<PagePart>& now, Json& out) {
  for (const auto& part : now) {
    const auto old = std::ranges::find(before, part.id, &PagePart::id);
    if (old == before.end() || old->html != part.html) out["html"][part.id] = part.html;
  }
}

}  // namespace

std::string change_between(const PageState& before, const PageState& now) {
  auto out = Json::object();
  const auto add = [&](const char* key, const auto& old, const auto& value) {
    if (old != value) out[key] = value;
  };
  add("title", before.page.title, now.page.title);
  add("note", before.note, now.note);
  add("contents", before.parts.contents, now.parts.contents);
  add("arms", before.arms, now.arms);
  add("run", places_of(before.parts.run), places_of(now.parts.run));
  add("claims", places_of(before.parts.claims), places_of(now.parts.claims));
  add_html(before.parts.run, now.parts.run, out);
  add_html(before.parts.claims, now.parts.claims, out);
  add("picked",
      picked_layers(before.page.figures, before.page.named),
      picked_layers(now.page.figures, now.page.named));
  add("drawn", drawn(before.page.figures), drawn(now.page.figures));
  add("figures", Json::array(), figures_change(before.page.figures, now.page.figures));
  return out.empty() ? "" : text_of(out);
}

}  // namespace kappascope::reports
