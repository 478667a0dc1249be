// SPDX-License-Identifier: Apache-2.0
#include "reports/diagnosis/usual.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reports/diagnosis/questions.h"
#include "reports/html/parts/gauge.h"
#include "reports/summary.h"
#include "reports/written_run.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

using Catch::Contains;

/// What the library has in it, as its file says it.
nlohmann::json shipped() {
  std::ifstream file(KAPPASCOPE_USUAL);
  return nlohmann::json::parse(file);
}

/// A layer as a reference says that layers are: its width, its kind of rows, its step.
struct Layer {
  double width = 0;
  bool in_sequences = false;
  std::int64_t step = 0;
  double steps_to_learn = 0;
};

std::vector<Arm> run_of(const Layer& layer, const std::filesystem::path& dir) {
  auto steps = sample::scalar("learning/second_moment", "a", layer.steps_to_learn, 0.01);
  steps.n = 100;
  steps.n_effective = layer.in_sequences ? 10 : 100;
  return read_arms({write(dir,
                          {.scalars = {steps,
                                       sample::plain("layer/width", "a", layer.width),
                                       sample::plain("learning/mean_costs", "a", 2)},
                           .steps = 100'000,
                           .measured = layer.step})});
}

bool overlap(const nlohmann::json& a, const nlohmann::json& b) {
  return a[0] <= b[1] && b[0] <= a[1];
}

}  // namespace

TEST_CASE("references are in order, of enough layers and runs, and no two of one case", "[usual]") {
  const auto all = shipped();
  REQUIRE(!all.empty());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& one = all[i];
    CAPTURE(one.dump());
    CHECK(one["low"] <= one["middle"]);
    CHECK(one["middle"] <= one["high"]);
    CHECK(one["layers"] >= 12);
    CHECK(one["runs"] >= 4);
    for (std::size_t j = 0; j < i; ++j) {
      const auto& other = all[j];
      CHECK(!(one["series"] == other["series"] && one["rows"] == other["rows"] &&
              overlap(one["width"], other["width"]) && overlap(one["steps"], other["steps"])));
    }
  }
}

TEST_CASE("a layer has the reference of its width, rows and stage, and no other", "[usual]") {
  const TemporaryFolder folder;
  int number = 0;
  for (const auto& one : shipped()) {
    const std::string series = one["series"];
    const bool in_sequences = one["rows"] == "sequences";
    for (const std::size_t end : {0U, 1U}) {
      const auto arms = run_of({one["width"][end], in_sequences, one["steps"][end], 5},
                               folder / std::to_string(number++));
      const auto found = usual_of(arms.front(), series, "a");
      REQUIRE(found);
      CHECK(found->low == one["low"]);
      CHECK(found->high == one["high"]);
      CHECK(found->layers == one["layers"]);
      CHECK(!usual_of(arms.front(), series, "b"));
    }
  }
  const auto beyond = run_of({1e9, true, 100, 5}, folder / "beyond");
  CHECK(!usual_of(beyond.front(), "learning/second_moment", "a"));
  const auto late = run_of({384, true, 90'000, 5}, folder / "late");
  CHECK(!usual_of(late.front(), "learning/second_moment", "a"));
}

TEST_CASE("a mean that costs what is usual asks for nothing, one that costs more for a trial",
          "[usual]") {
  const TemporaryFolder folder;
  const auto all = shipped();
  const auto& one = *std::ranges::find_if(all, [](const auto& row) {
    return row["series"] == "learning/mean_costs" && row["high"] > 1.5;
  });
  const double high = one["high"];
  int number = 0;
  const auto decided = [&](double lower, double upper, double width) {
    auto steps = sample::scalar("learning/second_moment", "a", 100, 0.01);
    steps.n = 100;
    steps.n_effective = one["rows"] == "sequences" ? 10 : 100;
    auto costs = sample::plain("learning/mean_costs", "a", std::sqrt(lower * upper));
    costs.lower = lower;
    costs.upper = upper;
    const std::int64_t step = one["steps"][1];
    const auto arms = read_arms({write(
        folder / std::to_string(number++),
        {.scalars = {steps, costs, sample::plain("layer/width", "a", width)}, .steps = step + 1})});
    return diagnose_bias(arms);
  };
  const double width = one["width"][0];
  CHECK(decided(1.2, high, width).verdict == Verdict::kUsual);
  CHECK(decided(1.2, high, width).grade == Grade::kGood);
  CHECK_FALSE(decided(1.2, high, width).action);
  CHECK(decided(1.2, 2 * high, width).verdict == Verdict::kUsual);  // perhaps more than usual
  CHECK(decided(1.01 * high, 2 * high, width).verdict == Verdict::kWorthATrial);
  CHECK(decided(1.2, high, 1e9).verdict == Verdict::kWorthATrial);  // no reference
  CHECK(decided(0.9, 1.05, width).verdict == Verdict::kNothingToGain);
}

TEST_CASE("the card says what is usual, and where a layer lies", "[usual]") {
  const TemporaryFolder folder;
  const auto all = shipped();
  const auto& one = *std::ranges::find_if(
      all, [](const auto& row) { return row["series"] == "learning/second_moment"; });
  const auto card = [&](const Layer& layer, const char* name) {
    return summarise(run_of(layer, folder / name)).answers.front();
  };
  Layer layer{one["width"][0], one["rows"] == "sequences", one["steps"][0], one["middle"]};
  const auto within = card(layer, "within");
  CHECK_THAT(within.why, Contains("of this run's layers 1 within that"));
  REQUIRE(within.readings.front().gauge);
  CHECK(within.readings.front().gauge->usual->lower == one["low"]);
  CHECK_THAT(gauge_html(*within.readings.front().gauge),
             Contains("class=\"usual\"") && Contains("; usual "));
  layer.steps_to_learn = 2 * one["high"].get<double>();
  CHECK_THAT(card(layer, "above").why, Contains("layers 1 above that"));
  layer.steps_to_learn = one["low"].get<double>() / 2;
  CHECK_THAT(card(layer, "below").why, Contains("layers 1 below that"));
  layer.width = one["width"][0];
  const auto bias = summarise(run_of(layer, folder / "bias")).answers.at(2);
  CHECK(bias.id == "bias");
  CHECK_THAT(bias.usual, Contains("× to "));
  CHECK(bias.readings.front().gauge->usual.has_value());
  layer.width = 1e9;
  const auto unknown = card(layer, "unknown");
  CHECK_THAT(unknown.why, Contains("What is usual at this width and stage is not known."));
  CHECK(unknown.usual.empty());
}

}  // namespace kappascope::reports
