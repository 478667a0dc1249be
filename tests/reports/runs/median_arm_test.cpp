// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/median_arm.h"

#include <limits>

#include "support/catch.h"

namespace kappascope::reports {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A run with one series, of these values at steps 0, 10, 20, ...
Arm run_of(const std::vector<double>& values,
           const std::string& name = "kappa/sigma",
           store::Status status = "resolved") {
  Arm arm;
  auto& points = arm.scalars[{name, ""}];
  for (std::size_t i = 0; i < values.size(); ++i) {
    points.push_back(
        {static_cast<std::int64_t>(10 * i), {.name = name, .value = values[i], .status = status}});
  }
  return arm;
}

}  // namespace

TEST_CASE("an arm is the median of its seeds between the lowest and the highest", "[study]") {
  const Arm arm = median_arm("a", {run_of({1, 5}), run_of({10, 6}), run_of({2, 7})}, 1);
  const auto& points = arm.series("kappa/sigma");
  REQUIRE(points.size() == 2);
  CHECK(arm.label == "a");
  CHECK(arm.seeds == 3);
  CHECK(points[0].scalar.value == 2);
  CHECK(points[0].scalar.lower == 1);
  CHECK(points[0].scalar.upper == 10);
  CHECK(points[1].step == 10);
  CHECK(points[1].scalar.value == 6);
  CHECK(is_resolved(points[0].scalar));
  CHECK(median_arm("a", {run_of({1}), run_of({4})}, 1).series("kappa/sigma")[0].scalar.value ==
        2.5);
}

TEST_CASE("a step or number that a seed lacks makes the median unresolved, and is counted",
          "[study]") {
  const Arm arm = median_arm("a", {run_of({1, 5}), run_of({3, kNan}), run_of({2})}, 1);
  const auto& points = arm.series("kappa/sigma");
  REQUIRE(points.size() == 2);
  CHECK(is_resolved(points[0].scalar));
  CHECK(points[1].scalar.value == 5);
  CHECK(status_text(points[1].scalar) == "1 of 3 seeds");
  CHECK(!is_resolved(points[1].scalar));
  const Arm none = median_arm("a", {run_of({kNan}), run_of({kNan})}, 1);
  CHECK(std::isnan(none.series("kappa/sigma")[0].scalar.value));
  CHECK(!none.series("kappa/sigma")[0].scalar.lower);
}

TEST_CASE("layers that are measured in turns have the last number of each seed", "[study]") {
  const auto run = [](const std::vector<std::pair<std::int64_t, double>>& values, int last) {
    Arm arm;
    arm.last_step = last;
    auto& points = arm.scalars[{"kappa/sigma", "a"}];
    for (const auto& [step, value] : values)
      points.push_back(
          {step, {.name = "kappa/sigma", .layer = "a", .value = value, .status = "resolved"}});
    return arm;
  };
  const auto points =
      median_arm("a", {run({{10, 1}, {90, 3}}, 99), run({{50, 5}}, 99), run({{70, 4}}, 80)}, 1)
          .series("kappa/sigma", "a");
  REQUIRE(points.size() == 4);
  const auto at = [&](std::size_t place) { return points[place].scalar; };
  CHECK(status_text(at(0)) == "1 of 3 seeds");
  CHECK(status_text(at(1)) == "1 of 3 seeds");  // step 50: what was measured at 10 is too old
  CHECK(status_text(at(2)) == "2 of 3 seeds");  // step 70
  CHECK(at(2).value == 4.5);
  CHECK(status_text(at(3)) == "2 of 3 seeds");  // step 90: one of the runs ended before
  CHECK(at(3).value == 4);
  const auto all = median_arm("a", {run({{60, 1}, {90, 3}}, 99), run({{50, 5}}, 99)}, 1)
                       .series("kappa/sigma", "a");
  CHECK(!is_resolved(all[0].scalar));
  CHECK(is_resolved(all[1].scalar));
  CHECK(all[1].scalar.value == 3);
  CHECK(all[2].scalar.value == 4);
}

TEST_CASE("a value that is not resolved in one seed counts, and is not resolved", "[study]") {
  const Arm arm =
      median_arm("a", {run_of({1}), run_of({9}, "kappa/sigma", "not_resolvable"), run_of({5})}, 1);
  const auto& scalar = arm.series("kappa/sigma")[0].scalar;
  CHECK(scalar.value == 5);
  CHECK(!scalar.upper);
  CHECK(status_text(scalar) == "3 of 3 seeds, 1 not resolved");
}

TEST_CASE("most seeds at infinity are a median at infinity", "[study]") {
  const auto median = [](const std::vector<Arm>& runs) {
    return median_arm("a", runs, 1).series("kappa/sigma")[0].scalar.value;
  };
  CHECK(median({run_of({1}), run_of({kInf}), run_of({kInf})}) == kInf);
  CHECK(median({run_of({kInf}), run_of({kInf})}) == kInf);
  CHECK(median({run_of({1}), run_of({2}), run_of({kInf})}) == 2);
}

TEST_CASE("one seed, or seeds that agree, have no band", "[study]") {
  const Arm single = median_arm("a", {run_of({1, 2})}, 1);
  const auto& alone = single.series("kappa/sigma");
  CHECK(alone[1].scalar.value == 2);
  CHECK(!alone[1].scalar.lower);
  const Arm same = median_arm("a", {run_of({1, 2}), run_of({1, 2})}, 1);
  CHECK(!same.series("kappa/sigma")[1].scalar.upper);
  // One step at which they differ, and the band is whole.
  const Arm nearly = median_arm("a", {run_of({1, 2}), run_of({1, 3})}, 1);
  CHECK(nearly.series("kappa/sigma")[0].scalar.upper == 1);
}

TEST_CASE("the training loss alone is smoothed", "[study]") {
  const std::vector<double> spiky = {1, 1, 9, 1, 1};
  const Arm arm = median_arm("a", {run_of(spiky, "loss/train", "ok")}, 3);
  CHECK(arm.series("loss/train")[2].scalar.value == 1);
  CHECK(median_arm("a", {run_of(spiky)}, 3).series("kappa/sigma")[2].scalar.value == 9);
}

TEST_CASE("a running median keeps a falling series, its ends and its gaps", "[study]") {
  const auto smooth = [](const std::vector<double>& values) {
    const Arm arm = run_of(values);
    std::vector<double> out;
    for (const auto& point : running_median(arm.series("kappa/sigma"), 5))
      out.push_back(point.scalar.value);
    return out;
  };
  CHECK(smooth({9, 7, 4, 3, 2, 1}) == std::vector<double>{9, 7, 4, 3, 2, 1});
  const auto gap = smooth({1, 8, kNan, 2, 3, 4});
  CHECK(std::isnan(gap[2]));
  CHECK(gap[3] == 3.5);  // of 8, 2, 3 and 4
  CHECK(smoothing_window(29) == 1);
  CHECK(smoothing_window(300) == 11);
  CHECK(smoothing_window(100'000) == 101);
}

TEST_CASE("arrays and spectra of checkpoints are the first seed's", "[study]") {
  Arm first = run_of({1}, "spectrum/hessian/*/lambda_1", "converged");
  first.arrays[{"hessian/density", ""}] = {{0, {.name = "hessian/density", .data = {7}}}};
  Arm second = run_of({3}, "spectrum/hessian/*/lambda_1", "converged");
  second.arrays[{"hessian/density", ""}] = {{0, {.name = "hessian/density", .data = {8}}}};
  const Arm arm = median_arm("a", {first, second}, 1);
  CHECK(arm.series("spectrum/hessian/*/lambda_1")[0].scalar.value == 1);
  CHECK(arm.arrays.at({"hessian/density", ""})[0].second.data[0] == 7);
}

}  // namespace kappascope::reports
