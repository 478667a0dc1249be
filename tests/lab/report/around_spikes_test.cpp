// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>

#include "lab/report/builders.h"
#include "lab/report/sample_study.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::reports;
using Catch::Matchers::Contains;

namespace {

double at(const Series& series, double x) {
  const auto found = std::ranges::find(series.x, x);
  REQUIRE(found != series.x.end());
  return series.y[static_cast<std::size_t>(found - series.x.begin())];
}

/// The loss of a sample run without its spike, as a multiple of the last one.
double calm(double step) {
  return 3 - 2 * step / 220;
}

/// What the loss is of the usual one, the median of the 50 steps before, so long after step 150; of
/// two spikes, at 150 and at 170, their median.
double expected(double since) {
  double sum = 0;
  for (const double begin : {150.0, 170.0}) sum += calm(begin + since) / calm(begin - 25.5);
  return sum / 2;
}

StudyView study_in(const TemporaryFolder& folder) {
  const auto sample = read_sample(folder.path());
  return view_of(sample.result, sample.runs);
}

}  // namespace

TEST_CASE("spikes are laid one upon another from where they began") {
  const TemporaryFolder folder;
  for (const int seed : {1, 2}) {
    write_study_run(folder.path(), {.seed = seed, .steps = 221, .spike_at = 130 + 20 * seed});
    write_study_run(folder.path(), {.arm = "calm", .seed = seed, .steps = 221});
  }
  const auto figure = around_spikes(study_in(folder), "");
  REQUIRE(figure);
  CHECK_THAT(figure->caption, Contains("2 spikes of control and 0 spikes of calm"));
  REQUIRE(figure->panels.size() == 2);
  REQUIRE(figure->series.size() == 2);
  const auto& loss = figure->series[0];
  CHECK(loss.x.front() == -50);
  CHECK(at(loss, -1) == Approx(expected(-1)));
  CHECK(at(loss, 0) == Approx(5 * expected(0)));
  CHECK(at(loss, 9) == Approx(5 * expected(9)));
  CHECK(at(loss, 10) == Approx(expected(10)));
  // κ is ten times the loss of that step, measured at every 20th: 10 steps before 150, 10 after.
  const auto& kappa = figure->series[1];
  CHECK(kappa.panel == 1);
  CHECK(at(kappa, -10) == 1);
  CHECK(at(kappa, 10) == Approx((calm(160) / calm(140) + calm(180) / calm(160)) / 2));
}

TEST_CASE("a measurement in a spike shows what the conditioning did") {
  const TemporaryFolder folder;
  for (const int seed : {1, 2}) {
    write_study_run(folder.path(), {.seed = seed, .steps = 221, .spike_at = 155});
    write_study_run(folder.path(), {.arm = "calm", .seed = seed, .steps = 221});
  }
  const auto figure = around_spikes(study_in(folder), "");
  REQUIRE(figure);
  const auto& kappa = figure->series[1];
  CHECK(at(kappa, 0) == Approx(5 * calm(160) / calm(140)));  // 160 is the first from 155 on
  CHECK(at(kappa, 20) == Approx(calm(180) / calm(140)));
  CHECK(kappa.hover.front() == "2 spikes");
}

TEST_CASE("a study without spikes has no such figure") {
  const TemporaryFolder folder;
  write_study(folder.path(), 0.1, 0.01);
  CHECK_FALSE(around_spikes(study_in(folder), ""));
}
