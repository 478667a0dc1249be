// SPDX-License-Identifier: Apache-2.0
#include "reports/advice.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "kappascope/core/error.h"
#include "reports/sample_run.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

using Catch::Contains;

/// A layer whose κ(Σ+μμᵀ) and κ(Σ) are known with these relative errors.
struct Known {
  double second_moment = 100, sigma = 100, error = 0.01, with_bias = 0;
  double paired_error = 0;  // of kappa/mean_costs; 0: the run has none
  store::Status status = store::Status::kResolved;
  std::int64_t last_step = 7;  // of the run; the layer was measured at 7
  std::optional<double> steps_mean_costs{}, steps_bias_leaves{};  // learning times, of 100 without
};

LayerAdvice advice_on(const Known& known) {
  const TemporaryFolder folder;
  {
    auto run = store::RunWriter::create(folder / "run", {});
    store::Snapshot snapshot;
    snapshot.step = 7;
    const auto add = [&](const std::string& name, double value, store::Status status) {
      snapshot.scalars.push_back(sample::scalar(name, "a", value, known.error, status));
    };
    add("kappa/second_moment", known.second_moment, known.status);
    add("kappa/sigma", known.sigma, known.status);
    if (known.paired_error > 0) {
      snapshot.scalars.push_back(sample::scalar(
          "kappa/mean_costs", "a", known.second_moment / known.sigma, known.paired_error));
    }
    if (known.with_bias > 0) {
      add("kappa/with_bias", known.with_bias, known.status);
      snapshot.scalars.push_back(sample::plain("bias/norm", "a", 1));
    }
    const auto learning = [&](const char* name, double value) {
      snapshot.scalars.push_back(sample::scalar(name, "a", value, known.error));
    };
    if (known.steps_mean_costs) {
      learning("learning/sigma", 100);
      learning("learning/second_moment", 100 * *known.steps_mean_costs);
      learning("learning/mean_costs", *known.steps_mean_costs);
    }
    if (known.steps_bias_leaves) {
      learning("learning/with_bias", 100 * *known.steps_bias_leaves);
      learning("learning/bias_leaves", *known.steps_bias_leaves);
      learning("learning/bias_changes", *known.steps_bias_leaves / *known.steps_mean_costs);
    }
    snapshot.scalars.push_back(sample::scalar("gradvar/b_zero", "a", 4, 0.1));
    snapshot.scalars.push_back(sample::scalar("gradvar/b_minus_mean", "a", 2, 0.1));
    run.write(snapshot);
    if (known.last_step > 7) {
      store::Snapshot last{.step = known.last_step};
      last.scalars.push_back(sample::plain("loss/train", "", 1));
      run.write(last);
    }
    run.set_state("finished");
  }
  const auto found = advice(folder / "run");
  REQUIRE(found.layers.size() == 1);
  CHECK(found.suggestions.empty() ==
        (found.layers[0].verdict.find("worth a trial") == std::string::npos));
  CHECK(found.limits.size() == 5);
  CHECK_THAT(to_text(found), Contains(found.layers[0].verdict.substr(0, 40)));
  const auto json = nlohmann::json::parse(to_json(found));
  CHECK(json["layers"][0]["verdict"] == found.layers[0].verdict);
  CHECK(json["layers"][0]["mean_costs"].is_null() == !found.layers[0].mean_costs);
  return found.layers[0];
}

}  // namespace

TEST_CASE("the interval decides what a bias is worth") {
  const auto costly = advice_on({.second_moment = 400});
  REQUIRE(costly.mean_costs);
  CHECK(costly.mean_costs->value == Approx(4));
  CHECK(*costly.mean_costs->lower == Approx(4 * 0.99 / 1.01));
  CHECK(*costly.mean_costs->upper == Approx(4 * 1.01 / 0.99));
  CHECK(costly.step == 7);
  CHECK_FALSE(costly.has_bias);
  CHECK_THAT(costly.verdict, Contains("worth a trial with both"));
  CHECK_THAT(advice_on({}).verdict, Contains("Nothing to gain"));
  CHECK_THAT(advice_on({.second_moment = 50}).verdict, Contains("The mean helps here"));
  CHECK_THAT(advice_on({.second_moment = 120, .error = 0.3}).verdict, Contains("Not decided"));
}

TEST_CASE("what was measured in the first tenth of a run alone decides nothing") {
  CHECK_THAT(advice_on({.second_moment = 400, .last_step = 79}).verdict, Contains("worth a trial"));
  CHECK_THAT(advice_on({.second_moment = 400, .last_step = 80}).verdict,
             Contains("Not decided") && Contains("step 7 of 80"));
}

TEST_CASE("differences row by row decide where two separate intervals do not") {
  const Known apart{.second_moment = 120, .error = 0.3};
  Known paired = apart;
  paired.paired_error = 0.02;
  CHECK_THAT(advice_on(apart).verdict, Contains("Not decided"));
  CHECK_FALSE(advice_on(apart).mean_costs->paired);
  const auto found = advice_on(paired);
  CHECK(found.mean_costs->paired);
  CHECK(*found.mean_costs->lower == Approx(1.2 * 0.98));
  CHECK_THAT(found.verdict, Contains("worth a trial"));
  // What is not resolved stays so.
  paired.status = store::Status::kBiased;
  CHECK_FALSE(advice_on(paired).mean_costs);
}

TEST_CASE("where learning times were measured, the advice is given in them") {
  const auto plain = advice_on({.second_moment = 400, .steps_mean_costs = 3});
  CHECK(plain.in_steps);
  CHECK(plain.steps->value == Approx(300));
  CHECK(plain.step == 7);
  CHECK(plain.mean_costs->value == Approx(3));
  CHECK_FALSE(plain.bias_leaves);
  CHECK_THAT(plain.verdict, Contains("worth a trial with both"));
  CHECK_THAT(advice_on({.second_moment = 400, .steps_mean_costs = 1}).verdict,
             Contains("Nothing to gain"));
  const auto kept = advice_on({.with_bias = 100, .steps_mean_costs = 3, .steps_bias_leaves = 1.1});
  CHECK(kept.steps->value == Approx(110));
  CHECK(kept.bias_leaves->value == Approx(1.1));
  CHECK(kept.bias_changes->value == Approx(1.1 / 3));
  CHECK_THAT(kept.verdict, Contains("keep it"));
  const auto open = advice_on({.second_moment = 400, .steps_mean_costs = std::nan("")});
  CHECK_FALSE(open.mean_costs);
  CHECK_THAT(open.verdict, Contains("Not decided") && Contains("in steps to learn 90 %"));
}

TEST_CASE("a bias that has taken the mean up is to be kept, one that has not is said") {
  const auto kept = advice_on({.second_moment = 400, .with_bias = 110});
  CHECK(kept.has_bias);
  CHECK(kept.bias_leaves->value == Approx(1.1));
  CHECK_THAT(kept.verdict, Contains("keep it"));
  CHECK_THAT(advice_on({.second_moment = 400, .with_bias = 400}).verdict,
             Contains("has not taken up so far"));
}

TEST_CASE("variances are told with the interval that follows from theirs") {
  const auto layer = advice_on({});
  REQUIRE(layer.variance_at_minus_mean);
  CHECK(layer.variance_at_minus_mean->value == Approx(0.5));
  CHECK(*layer.variance_at_minus_mean->lower == Approx(0.5 * 0.9 / 1.1));
  CHECK_FALSE(layer.variance_at_best);
}

TEST_CASE("numbers that are not resolved decide nothing, and the cause is named") {
  const auto layer = advice_on({.second_moment = 400, .status = store::Status::kNotResolvable});
  CHECK_FALSE(layer.mean_costs);
  CHECK_THAT(layer.verdict,
             Contains("Not decided") && Contains("κ(Σ+μμᵀ) is beyond what") && Contains("59,200"));
}

namespace {

/// What a run asks for whose last numbers are these, beside a layer without anything to do.
std::vector<Suggestion> asked_for(const std::vector<store::Scalar>& scalars,
                                  const store::Facts& facts = {},
                                  double spike_at = -1) {
  const TemporaryFolder folder;
  {
    auto run = store::RunWriter::create(folder / "run", facts);
    for (std::int64_t step = 0; step < 200; ++step) {
      store::Snapshot loss{.step = step, .scalars = {}, .arrays = {}, .events = {}};
      const double noise = 1e-3 * static_cast<double>(step * 7 % 11);
      loss.scalars.push_back(sample::plain(
          "loss/train", "", 1 + noise + (static_cast<double>(step) == spike_at ? 3 : 0)));
      run.write(loss);
    }
    store::Snapshot last{.step = 199, .scalars = scalars, .arrays = {}, .events = {}};
    for (const auto* name : {"kappa/sigma", "kappa/second_moment"})
      last.scalars.push_back(sample::scalar(name, "a", 100, 0.01, store::Status::kResolved));
    run.write(last);
    run.set_state("finished");
  }
  const auto found = advice(folder / "run");
  const auto json = nlohmann::json::parse(to_json(found));
  CHECK(json["suggestions"].size() == found.suggestions.size());
  return found.suggestions;
}

store::Scalar critical(double value, double error, double rows) {
  auto out = sample::scalar("gradvar/critical_batch", "a", value, error);
  out.n = rows;
  return out;
}

std::vector<std::string> names_of(const std::vector<Suggestion>& suggestions) {
  std::vector<std::string> names;
  for (const auto& each : suggestions) names.push_back(each.what);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a run whose numbers ask for nothing is told so; its batch may be off on either side") {
  CHECK(asked_for({}).empty());
  CHECK(asked_for({critical(150, 0.1, 100)}).empty());
  const auto small = asked_for({critical(1000, 0.1, 100)});
  REQUIRE(names_of(small) == Names{"batch"});
  CHECK_THAT(to_text(small[0]),
             Contains("Batch: noise and mean of the gradient of a are as large as each other at a "
                      "batch of 1000 (900 to 1100) rows at step 199, against 100 in a step; try "
                      "a batch of twice the rows") &&
                 Contains("it has worked if") && Contains("not known: "));
  CHECK_THAT(asked_for({critical(5, 0.1, 100)}).at(0).attempt, Contains("half the rows"));
}

TEST_CASE("a spike asks for a lower rate, an early one for a warm-up; so does the limit") {
  const auto late = asked_for({}, {}, 150);
  REQUIRE(names_of(late) == Names{"rate"});
  CHECK_THAT(late[0].evidence, Contains("a spike at step 150, to 4"));
  CHECK_THAT(late[0].unknown, Contains("or a batch does"));
  const auto above = [](double seen) {
    return asked_for({sample::scalar("hessian/preconditioned", "", seen, 0.01, "converged"),
                      sample::plain("hessian/stability_limit", "", 38)});
  };
  CHECK(above(38).empty());  // not surely above
  CHECK_THAT(above(57).at(0).evidence, Contains("150 % of its limit"));
}

TEST_CASE("features that a precision loses, and scales that a norm would even out, are told") {
  auto lost = asked_for({sample::plain("features/outside_bfloat16", "a", 3),
                         sample::plain("features/nonfinite_rows", "a", 0)});
  REQUIRE(names_of(lost) == Names{"precision"});
  CHECK_THAT(lost[0].evidence, Contains("3 features of a lie outside"));
  lost = asked_for({sample::plain("features/outside_bfloat16", "a", 0),
                    sample::plain("features/nonfinite_rows", "a", 7)});
  CHECK_THAT(lost.at(0).evidence, Contains("7 rows"));
  const std::vector<store::Scalar> scales = {
      sample::scalar("kappa/with_bias", "a", 1000, 0.1, store::Status::kResolved),
      sample::scalar("kappa/with_bias_scaled", "a", 20, 0.1, store::Status::kResolved)};
  const auto uneven = asked_for(scales, {{"optimizer", "sgd"}});
  REQUIRE(names_of(uneven) == Names{"norm"});
  CHECK_THAT(uneven[0].evidence, Contains("by 50 (40.9 to 61.1"));
  CHECK(asked_for(scales, {{"optimizer", "adam"}}).empty());  // which scales each weight already
}

TEST_CASE("a run without condition numbers, and a folder without a run, are errors") {
  const TemporaryFolder folder;
  static_cast<void>(store::RunWriter::create(folder / "run", {}));
  CHECK_THROWS_WITH(advice(folder / "run"), Contains("no down-projection was measured"));
  CHECK_THROWS_AS(advice(folder / "nothing"), Error);
}

}  // namespace kappascope::reports
