// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/measured_run.h"

#include <limits>

#include "kappascope/core/error.h"
#include "lab/theory/synthetic_run.h"
#include "support/catch.h"
#include "theory/claim.h"

using namespace kappascope::theory;
using namespace kappascope::theory::test;
namespace store = kappascope::store;

TEST_CASE("the share of a run weighs layers alike and counts unresolved pairs apart") {
  SyntheticRun run;
  run.write(0, {{"kappa/sigma", "a", 10}, {"kappa/second_moment", "a", 40}});
  run.write(1, {{"kappa/sigma", "a", 10}, {"kappa/second_moment", "a", 9}});
  run.write(2, {{"kappa/sigma", "b", 10}, {"kappa/second_moment", "b", 10}});
  store::Scalar lost{.name = "kappa/sigma", .layer = "b", .value = 5, .status = "not_resolvable"};
  run.write(3, {lost, {"kappa/second_moment", "b", 1}});
  run.write(4,
            {{"kappa/sigma", "b", std::numeric_limits<double>::quiet_NaN()},
             {"kappa/second_moment", "b", 1}});
  run.write(5, {{"kappa/sigma", "b", 5}});

  const auto verdict = check_order(run.dir(), "kappa/second_moment", "kappa/sigma");
  CHECK(verdict.outcome == Outcome::kMeasured);
  CHECK(verdict.measured == Approx(0.75));
  CHECK(verdict.cases == 3);
  CHECK(*verdict.lower < 0.75);
  CHECK(*verdict.upper > 0.75);
  CHECK(verdict.witness == "a, step 1: 9 < 10");
  CHECK(verdict.condition.find(
            "2 of 3 pairs over 2 layers (1 of 2, 1 of 1, 0 of 0 by thirds of training); 2 "
            "more unresolved") == 0);
}

TEST_CASE("of a third of training only its own pairs count") {
  SyntheticRun run;
  for (std::int64_t step = 0; step < 9; ++step) {
    const double second = step < 3 ? 9 : 11;
    run.write(step, {{"kappa/sigma", "a", 10}, {"kappa/second_moment", "a", second}});
  }
  const auto share = [&](std::size_t third) {
    const auto found = check_order(run.dir(), "kappa/second_moment", "kappa/sigma", third);
    CHECK(found.cases == 3);
    return found.measured;
  };
  CHECK(share(0) == 0);
  CHECK(share(1) == 1);
  CHECK(share(2) == 1);
}

TEST_CASE("a run without what a claim needs leaves it undecided and names the series") {
  SyntheticRun run;
  run.write(0, {{"loss/train", "", 1}});
  const auto order = check_order(run.dir(), "kappa/second_moment", "kappa/sigma");
  CHECK(order.outcome == Outcome::kUndecided);
  CHECK(order.condition.find("kappa/second_moment") != std::string::npos);
  const auto variance = check_gradient_variance(run.dir(), "gradvar/published");
  CHECK(variance.outcome == Outcome::kUndecided);
  CHECK(variance.condition.find("gradvar/measured") != std::string::npos);
}

TEST_CASE("a folder that is no run is an error") {
  CHECK_THROWS_AS(check_order("/nonexistent", "a", "b"), kappascope::Error);
}

TEST_CASE("the gradient variance is compared with both formulas, and the assumptions with it") {
  SyntheticRun run;
  run.write_variances(
      0,
      "a",
      {.measured = 10, .published = 8, .derived = 9.8, .independence = 0.5, .zero_mean = 0.3});
  run.write_variances(
      1,
      "a",
      {.measured = 20, .published = 16, .derived = 30, .independence = 1, .zero_mean = 0.6});
  const auto verdict = check_gradient_variance(run.dir(), "gradvar/published");
  CHECK(verdict.outcome == Outcome::kMeasured);
  CHECK(verdict.measured == Approx(0.8));
  CHECK(*verdict.lower == Approx(0.8 / 1.1));
  CHECK(*verdict.upper == Approx(0.8 / 0.9));
  CHECK(verdict.cases == 2);
  CHECK(verdict.condition.find("gradvar/published inside the measured 95 % interval in 0 of 2") !=
        std::string::npos);
  CHECK(verdict.condition.find("gradvar/derived in 1 of 2") != std::string::npos);
  CHECK(verdict.condition.find("dependence of y² and r² 5 %") != std::string::npos);
  CHECK(verdict.condition.find("mean gradient 3 % (subtracted)") != std::string::npos);
}
