// SPDX-License-Identifier: Apache-2.0
// Each rule on numbers that it must and must not speak about; and what it remembers.
#include <cmath>
#include <limits>
#include <random>

#include "kappascope/core/error.h"
#include "kappascope/store/schema/layer_probes.h"
#include "kappascope/store/schema/series.h"
#include "session/alarms/watch.h"
#include "support/catch.h"
#include "tensor/state_bytes.h"

using namespace kappascope;
using namespace kappascope::session;
using Catch::Contains;
using store::AlarmId;

namespace {

namespace id = store::id;

store::Snapshot with(std::int64_t step, std::vector<store::Scalar> scalars) {
  return {.step = step, .scalars = std::move(scalars), .arrays = {}, .events = {}};
}

store::Scalar kappa(double value, double error, store::Status status = store::Status::kResolved) {
  return {.name = id::kKappaWithBias,
          .layer = "a",
          .value = value,
          .lower = value * (1 - error),
          .upper = value * (1 + error),
          .status = status};
}

/// The names that a step raises.
std::string names(const std::vector<Alarm>& alarms) {
  std::string out;
  for (const auto& alarm : alarms)
    out.append(out.empty() ? "" : " ").append(store::info_of(alarm.id).name);
  return out;
}

}  // namespace

TEST_CASE("κ that changed is told where its intervals lie apart and the factor is reached") {
  AlarmsWatch watch;
  CHECK(watch.evaluate(with(0, {kappa(100, 0.1)})).empty());   // nothing to compare with
  CHECK(watch.evaluate(with(10, {kappa(190, 0.1)})).empty());  // less than a factor of 2
  const auto risen = watch.evaluate(with(20, {kappa(230, 0.1)}));
  REQUIRE(names(risen) == "kappa");
  CHECK(risen[0].layer == "a");
  CHECK(risen[0].step == 20);
  CHECK_THAT(risen[0].message, Contains("is 230 (207 to 253), and was 100 (90 to 110) at step 0"));
  CHECK(watch.evaluate(with(30, {kappa(240, 0.1)})).empty());           // since the last alarm
  CHECK(names(watch.evaluate(with(40, {kappa(90, 0.1)}))) == "kappa");  // it fell
  // Intervals that overlap, however far the values are apart; and what is no estimate. One that
  // its sample biases is: the next window has as many rows.
  CHECK(watch.evaluate(with(50, {kappa(900, 0.95)})).empty());
  CHECK(watch.evaluate(with(60, {kappa(9000, 0.1, store::Status::kNotResolvable)})).empty());
  CHECK(names(watch.evaluate(with(70, {kappa(9000, 0.1, store::Status::kBiased)}))) == "kappa");
  // Any change beyond the intervals.
  AlarmsWatch any({.kappa = ChangeOptions{1}});
  any.evaluate(with(0, {kappa(100, 0.01)}));
  CHECK(names(any.evaluate(with(1, {kappa(105, 0.01)}))) == "kappa");
  for (const double value : {200.0, 50.0}) {  // the factor itself is enough
    AlarmsWatch twice;
    twice.evaluate(with(0, {kappa(100, 0.1)}));
    CHECK(names(twice.evaluate(with(1, {kappa(value, 0.1)}))) == "kappa");
  }
  AlarmsWatch points;  // an interval of no width says nothing of what it allows
  points.evaluate(with(0, {kappa(100, 0)}));
  CHECK(points.evaluate(with(1, {kappa(900, 0)})).empty());
  AlarmsWatch falls;
  falls.evaluate(with(0, {kappa(100, 0.5)}));
  CHECK(falls.evaluate(with(1, {kappa(40, 0.3)})).empty());  // up to 52, where 50 was possible
  CHECK(names(falls.evaluate(with(2, {kappa(40, 0.2)}))) == "kappa");
}

TEST_CASE("the effective rank is told by a quarter") {
  AlarmsWatch watch;
  const auto rank = [](double value) {
    return store::Scalar{.name = id::kEffectiveRank,
                         .layer = "a",
                         .value = value,
                         .lower = value - 1,
                         .upper = value + 1};
  };
  watch.evaluate(with(0, {rank(40)}));
  CHECK(watch.evaluate(with(1, {rank(35)})).empty());
  CHECK(names(watch.evaluate(with(2, {rank(30)}))) == "effective_rank");
  auto unknown = rank(5);  // without an interval
  unknown.lower = unknown.upper = std::nullopt;
  CHECK(watch.evaluate(with(3, {unknown})).empty());
}

TEST_CASE("sharpness above the limit is told once, after three measurements in a row") {
  AlarmsWatch watch;
  const auto at = [&](std::int64_t step, double seen, store::Status status) {
    return names(watch.evaluate(with(
        step,
        {{.name = id::kPreconditionedLambda, .value = seen, .lower = seen - 0.1, .status = status},
         {.name = id::kStabilityLimit, .value = 38}})));
  };
  using enum store::Status::Value;
  CHECK(at(0, 40, kConverged).empty());
  CHECK(at(10, 40, kConverged).empty());
  CHECK(at(20, 38.05, kConverged).empty());  // not surely above: the count begins anew
  CHECK(at(30, 40, kConverged).empty());
  CHECK(at(40, 90, kMaxProducts).empty());  // not known
  CHECK(at(50, 40, kConverged).empty());
  CHECK(at(60, 40, kConverged) == "sharpness");
  CHECK(at(70, 40, kConverged).empty());
  CHECK(at(80, 30, kConverged).empty());
  for (const auto step : {90, 100}) CHECK(at(step, 40, kConverged).empty());
  CHECK(at(110, 40, kConverged) == "sharpness");
}

TEST_CASE("a spike of the gradient's norm is told where it begins; calm noise is not") {
  // 20,000 values: fewer than 1.2 % of such series have one told (core/surges.h).
  AlarmsWatch watch;
  std::mt19937_64 generator(5);
  std::normal_distribution<double> noise(1, 0.1);
  const auto norm = [&](std::int64_t step, double value) {
    return watch.evaluate(with(step, {{.name = id::kGradientNorm, .value = value}}));
  };
  std::int64_t step = 0;
  for (; step < 20000; ++step) REQUIRE(norm(step, noise(generator)).empty());
  const auto raised = norm(step, 4);
  REQUIRE(names(raised) == "gradient_norm");
  CHECK_THAT(raised[0].message, Contains("is 4, ") && Contains("times its median"));
  CHECK(norm(step + 1, 5).empty());  // the same spike
}

TEST_CASE("a batch that is small against the critical one is told by the lower bound") {
  AlarmsWatch watch;
  const auto at = [&](double lower, double rows) {
    return names(watch.evaluate(with(0,
                                     {{.name = id::kCriticalBatch,
                                       .layer = "a",
                                       .value = 2 * lower,
                                       .lower = lower,
                                       .n = rows}})));
  };
  CHECK(at(900, 100).empty());
  CHECK(at(1100, 100) == "gradient_noise");
  CHECK(at(std::numeric_limits<double>::infinity(), 100).empty());  // still
  CHECK(at(900, 100).empty());
  CHECK(at(1100, 100) == "gradient_noise");
  CHECK(at(900, 100).empty());
  CHECK(at(11, 1) == "gradient_noise");
  CHECK(at(9, 1).empty());
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const auto raised = watch.evaluate(with(0,
                                          {{.name = id::kCriticalBatch,
                                            .layer = "a",
                                            .value = kInfinite,
                                            .lower = kInfinite,
                                            .n = 100}}));
  REQUIRE(raised.size() == 1);
  CHECK_THAT(raised[0].message,
             Contains("not differ significantly from zero in the step's 100 rows"));
}

TEST_CASE("dead units and what bfloat16 cannot hold are told when they grow") {
  AlarmsWatch watch;
  const auto at = [&](store::SeriesId name, double count) {
    return names(watch.evaluate(with(0, {{.name = name, .layer = "a", .value = count}})));
  };
  for (const auto& [name, alarm] :
       {std::pair{id::kDeadFeatures, "dead_units"}, std::pair{id::kOutsideBfloat16, "bfloat16"}}) {
    CHECK(at(name, 0).empty());
    CHECK(at(name, 1) == alarm);
    CHECK(at(name, 2) == alarm);
    CHECK(at(name, 2).empty());
    CHECK(at(name, 1).empty());
    CHECK(at(name, 3) == alarm);
  }
  AlarmsWatch many({.dead_units = CountOptions{.least = 5}});
  const auto dead = [&](double count) {
    return many.evaluate(with(0, {{.name = id::kDeadFeatures, .layer = "a", .value = count}}));
  };
  CHECK(dead(4).empty());
  CHECK(names(dead(5)) == "dead_units");
}

TEST_CASE("a number that is none is told with what came before it") {
  AlarmsWatch watch;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  watch.evaluate(with(0, {kappa(100, 0.1)}));
  watch.evaluate(with(6,
                      {kappa(300, 0.1),
                       {.name = id::kLossTrain, .value = 2.5},
                       {.name = id::kGradientNorm, .value = 3}}));
  const auto raised = watch.evaluate(
      with(7, {{.name = id::kLossTrain, .value = nan}, {.name = id::kGradientNorm, .value = nan}}));
  REQUIRE(names(raised) == "non_finite non_finite");
  CHECK(raised[0].message ==
        "the loss is NaN; before it the loss was 2.5 at step 6, the norm of the gradient was 3 at "
        "step 6, alarm kappa at step 6 in a");
  CHECK(watch.evaluate(with(8, {{.name = id::kLossTrain, .value = nan}})).empty());
  const auto rows =
      watch.evaluate(with(9, {{.name = id::kNonfiniteRows, .layer = "b", .value = 3}}));
  REQUIRE(names(rows) == "non_finite");
  CHECK(rows[0].layer == "b");
  CHECK_THAT(rows[0].message, Contains("3 rows of features hold NaN or infinity"));
  AlarmsWatch below;  // a loss may be negative
  below.evaluate(with(0, {{.name = id::kLossTrain, .value = -2.5}}));
  CHECK(below.evaluate(with(1, {{.name = id::kLossTrain, .value = nan}})).at(0).message ==
        "the loss is NaN; before it the loss was -2.5 at step 0");
}

TEST_CASE("a rule can be left out") {
  AlarmOptions none{.kappa = {}, .effective_rank = {}};
  none.sharpness = {};
  none.gradient_norm = {};
  none.gradient_noise = {};
  none.dead_units = {};
  none.bfloat16 = {};
  none.non_finite = false;
  AlarmsWatch watch(none);
  watch.evaluate(with(0, {kappa(100, 0.1)}));
  CHECK(
      watch.evaluate(with(1, {kappa(1000, 0.1), {.name = id::kLossTrain, .value = NAN}})).empty());
}

TEST_CASE("a resumed watch raises the same alarms as one that went on, at every place") {
  const auto snapshot_of = [](std::int64_t step) {
    std::mt19937_64 generator(static_cast<std::uint64_t>(step));
    std::normal_distribution<double> noise(1, 0.1);
    auto out = with(step,
                    {{.name = id::kLossTrain, .value = step == 150 ? NAN : noise(generator)},
                     {.name = id::kGradientNorm, .value = noise(generator) + (step == 80 ? 9 : 0)},
                     {.name = id::kPreconditionedLambda,
                      .value = step > 20 ? 50.0 : 10.0,
                      .status = store::Status::kConverged},
                     {.name = id::kStabilityLimit, .value = 38},
                     {.name = id::kDeadFeatures, .layer = "a", .value = double(step / 60)}});
    out.scalars.push_back(kappa(step < 90 ? 100 : 1000, 0.1));
    return out;
  };
  const auto told = [](const std::vector<Alarm>& alarms) { return in_words(alarms); };
  std::vector<std::string> whole;
  AlarmsWatch once;
  for (std::int64_t step = 0; step < 160; ++step)
    whole.push_back(told(once.evaluate(snapshot_of(step))));
  for (const std::int64_t cut : {1, 22, 60, 81, 85, 95, 149, 151}) {
    CAPTURE(cut);
    AlarmsWatch before;
    for (std::int64_t step = 0; step < cut; ++step) before.evaluate(snapshot_of(step));
    AlarmsWatch after;
    after.load(tensor::from_bytes(tensor::to_bytes(before.state())));
    for (std::int64_t step = cut; step < 160; ++step)
      REQUIRE(told(after.evaluate(snapshot_of(step))) == whole[static_cast<std::size_t>(step)]);
  }
  tensor::State damaged;
  damaged.set("recent", std::int64_t{0});
  tensor::State memory;
  memory.set("count", std::int64_t{0});
  damaged.set("gradient_norm", memory);
  AlarmsWatch other;
  CHECK_THROWS_AS(other.load(damaged), Error);
  tensor::State without, nothing;
  nothing.set("count", std::int64_t{0});
  without.set("recent", std::int64_t{0});
  without.set("sharpness", nothing);
  CHECK_THROWS_AS(other.load(without), Error);
}

TEST_CASE("several alarms of a step are a line") {
  const std::vector<Alarm> alarms = {{AlarmId::kKappa, 7, "a", "κ is 9"},
                                     {AlarmId::kNonFinite, 7, "", "the loss is nan"},
                                     {AlarmId::kDeadUnits, 7, "b", "3 features"}};
  CHECK(in_words(alarms) == "alarm kappa at step 7: a: κ is 9; also non_finite, dead_units in b");
  CHECK(event_of(alarms[0]).kind == "alarm/kappa");
  CHECK(event_of(alarms[0]).message == "a: κ is 9");
}
