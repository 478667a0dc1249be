// SPDX-License-Identifier: Apache-2.0
#include "reports/live/change.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "reports/html/figure_json.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

PageState state_with(Figure figure) {
  PageState state;
  state.page.title = "a run";
  state.page.figures = {std::move(figure)};
  state.parts.run = {{"findings", "<section id=\"findings\"></section>"}};
  state.arms = {"a"};
  return state;
}

Figure two_series(std::size_t points) {
  Figure figure{.id = "loss", .title = "Loss"};
  figure.panels.push_back({.title = "loss"});
  for (const double factor : {1.0, 2.0}) {
    Series series{.quantity = factor > 1 ? "test" : "train"};
    for (std::size_t i = 0; i < points; ++i) {
      series.x.push_back(static_cast<double>(i));
      series.y.push_back(i == 1 ? kNan : factor * static_cast<double>(i));
      series.hollow.push_back(0);
      series.hover.emplace_back("n 5");
    }
    figure.series.push_back(std::move(series));
  }
  return figure;
}

nlohmann::json change(const Figure& before, const Figure& now) {
  const auto text = change_between(state_with(before), state_with(now));
  return text.empty() ? nlohmann::json() : nlohmann::json::parse(text);
}

}  // namespace

TEST_CASE("of a page that is the same nothing is sent", "[change]") {
  CHECK(change_between(state_with(two_series(5)), state_with(two_series(5))).empty());
}

TEST_CASE("new points are sent alone", "[change]") {
  const auto got = change(two_series(1000), two_series(1002));
  REQUIRE(got.size() == 1);
  const auto& tails = got["figures"][0]["tails"];
  REQUIRE(tails.size() == 2);
  CHECK(tails[1]["series"] == 1);
  CHECK(tails[1]["from"] == 1000);
  CHECK(tails[1]["tail"]["x"] == nlohmann::json({1000, 1001}));
  CHECK(tails[1]["tail"]["y"] == nlohmann::json({2000, 2002}));
  CHECK_FALSE(got["figures"][0].contains("frame"));
  CHECK(got.dump().size() < 500);
}

TEST_CASE("a point that changed is sent, and what stands behind it; a removed end is said",
          "[change]") {
  auto now = two_series(6);
  now.series[0].hollow[4] = 1;
  auto got = change(two_series(6), now);
  REQUIRE(got["figures"][0]["tails"].size() == 1);
  CHECK(got["figures"][0]["tails"][0]["from"] == 4);
  CHECK(got["figures"][0]["tails"][0]["tail"]["hollow"] == nlohmann::json({1, 0}));
  got = change(two_series(6), two_series(4));
  CHECK(got["figures"][0]["tails"][0]["from"] == 4);
  CHECK_FALSE(got["figures"][0]["tails"][0]["tail"].contains("x"));
}

TEST_CASE("a band that begins is sent from the first point on", "[change]") {
  auto now = two_series(4);
  now.series[1].lower.assign(4, 0);
  now.series[1].upper.assign(4, 9);
  const auto got = change(two_series(4), now);
  CHECK(got["figures"][0]["tails"][0]["from"] == 0);
  CHECK(got["figures"][0]["tails"][0]["tail"]["upper"].size() == 4);
}

TEST_CASE("axes are sent without points, another set of series as a whole figure", "[change]") {
  auto now = two_series(4);
  now.x.max = 9;
  auto got = change(two_series(4), now);
  CHECK(got["figures"][0]["frame"]["x"]["max"] == 9);
  CHECK(got["figures"][0]["frame"]["series"].empty());
  now.series.pop_back();
  got = change(two_series(4), now);
  CHECK(got["figures"][0]["whole"] == nlohmann::json::parse(text_of(figure_json(now))));
}

TEST_CASE("from nothing to a page everything is sent, with its order", "[change]") {
  const auto got = nlohmann::json::parse(change_between({}, state_with(two_series(3))));
  CHECK(got["title"] == "a run");
  CHECK(got["arms"] == nlohmann::json({"a"}));
  CHECK(got["run"] == nlohmann::json({"findings"}));
  CHECK(got["html"]["findings"] == "<section id=\"findings\"></section>");
  // What moves into a topic is not sent again, its place is.
  auto folded = state_with(two_series(3));
  folded.parts.run.front().home = "about-training";
  folded.parts.run.insert(folded.parts.run.begin(), {"about-training", "<details></details>"});
  const auto moved = nlohmann::json::parse(change_between(state_with(two_series(3)), folded));
  CHECK(moved["run"] == nlohmann::json({"about-training", "about-training/findings"}));
  CHECK_FALSE(moved["html"].contains("findings"));
  CHECK(got["drawn"] == nlohmann::json({"loss"}));
  CHECK(got["figures"][0]["whole"]["series"].size() == 2);
}

TEST_CASE("a figure that cannot be drawn any more leaves the list", "[change]") {
  Figure missing{.id = "loss", .title = "Loss", .missing = "No loss was recorded."};
  const auto got = change(two_series(3), missing);
  CHECK(got["drawn"].empty());
  CHECK_FALSE(got.contains("figures"));
}

}  // namespace kappascope::reports
