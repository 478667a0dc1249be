// SPDX-License-Identifier: Apache-2.0
#include "reports/live/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "reports/html/figure_json.h"

namespace kappascope::reports {
namespace {

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

std::string without_points(const Series& series) {
  return series_json(tail_of(series, series.x.size()));
}

/// The figure but for its series.
std::string frame_json(const Figure& figure) {
  return figure_json({.id = figure.id,
                      .title = figure.title,
                      .x = figure.x,
                      .columns = figure.columns,
                      .panels = figure.panels,
                      .lines = figure.lines,
                      .marks = figure.marks});
}

bool same_series(const Figure& a, const Figure& b) {
  return std::ranges::equal(a.series, b.series, [](const Series& left, const Series& right) {
    return without_points(left) == without_points(right);
  });
}

/// Empty where nothing changed.
std::string figure_change(const Figure& before, const Figure& now) {
  if (!same_series(before, now)) return "{\"whole\":" + figure_json(now) + "}";
  std::string tails;
  for (std::size_t s = 0; s < now.series.size(); ++s) {
    const Series& series = now.series[s];
    const std::size_t common = common_points(before.series[s], series);
    if (common == series.x.size() && common == before.series[s].x.size()) continue;
    tails += fmt::format("{}{{\"series\":{},\"from\":{},\"tail\":{}}}",
                         tails.empty() ? "" : ",",
                         s,
                         common,
                         series_json(tail_of(series, common)));
  }
  auto frame = frame_json(now);
  if (frame == frame_json(before)) frame.clear();
  if (tails.empty() && frame.empty()) return "";
  return fmt::format("{{\"id\":{},{}\"tails\":[{}]}}",
                     text_json(now.id),
                     frame.empty() ? "" : "\"frame\":" + frame + ",",
                     tails);
}

/// Collects the members of a JSON object.
class Members {
 public:
  void add(const std::string& key, const std::string& json) {
    text_ += (text_.empty() ? "" : ",") + text_json(key) + ":" + json;
  }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] std::string json() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

template <typename Range, typename Of>
std::string list_json(const Range& range, const Of& of) {
  std::string out;
  for (const auto& one : range) out += (out.empty() ? "" : ",") + text_json(of(one));
  return "[" + out + "]";
}

std::string identity(const std::string& text) {
  return text;
}
std::string place_of(const PagePart& part) {
  return part.home.empty() ? part.id : part.home + "/" + part.id;
}

std::string drawn_json(const std::vector<Figure>& figures) {
  std::vector<std::string> ids;
  for (const auto& figure : figures) {
    if (!figure.panels.empty()) ids.push_back(figure.id);
  }
  return list_json(ids, identity);
}

std::string figures_change(const std::vector<Figure>& before, const std::vector<Figure>& now) {
  std::map<std::string, const Figure*> known;
  for (const auto& figure : before) {
    if (!figure.panels.empty()) known.emplace(figure.id, &figure);
  }
  std::string out;
  for (const auto& figure : now) {
    if (figure.panels.empty()) continue;
    const auto found = known.find(figure.id);
    const auto one = found == known.end() ? "{\"whole\":" + figure_json(figure) + "}"
                                          : figure_change(*found->second, figure);
    if (!one.empty()) out += (out.empty() ? "" : ",") + one;
  }
  return out.empty() ? "" : "[" + out + "]";
}

void add_html(const std::vector<PagePart>& before, const std::vector<PagePart>& now, Members& out) {
  for (const auto& part : now) {
    const auto old = std::ranges::find(before, part.id, &PagePart::id);
    if (old == before.end() || old->html != part.html) out.add(part.id, text_json(part.html));
  }
}

}  // namespace

std::string change_between(const PageState& before, const PageState& now) {
  Members out;
  const auto text = [&](const char* key, const std::string& old, const std::string& value) {
    if (old != value) out.add(key, text_json(value));
  };
  const auto order = [&](const char* key, const auto& old, const auto& value) {
    const auto json = list_json(value, place_of);
    if (list_json(old, place_of) != json) out.add(key, json);
  };
  text("title", before.page.title, now.page.title);
  text("note", before.note, now.note);
  text("contents", before.parts.contents, now.parts.contents);
  if (before.arms != now.arms) out.add("arms", list_json(now.arms, identity));
  order("run", before.parts.run, now.parts.run);
  order("claims", before.parts.claims, now.parts.claims);
  Members html;
  add_html(before.parts.run, now.parts.run, html);
  add_html(before.parts.claims, now.parts.claims, html);
  if (!html.empty()) out.add("html", html.json());
  const auto picked = picked_layers(now.page.figures, now.page.named);
  if (picked_layers(before.page.figures, before.page.named) != picked)
    out.add("picked", list_json(picked, identity));
  const auto drawn = drawn_json(now.page.figures);
  if (drawn_json(before.page.figures) != drawn) out.add("drawn", drawn);
  if (const auto figures = figures_change(before.page.figures, now.page.figures); !figures.empty())
    out.add("figures", figures);
  return out.empty() ? "" : out.json();
}

}  // namespace kappascope::reports
