// SPDX-License-Identifier: Apache-2.0
// The figures of the Hessian: eigenvalues over steps, density at the end.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reports/figures/builders.h"

namespace kappascope::reports {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::quiet_NaN();

/// 2/learning rate, only where the rate changes: a schedule has one value a step.
std::optional<Series> descent_limit(const std::vector<Arm>& arms, std::size_t arm) {
  auto series = series_of(arms, arm, id::kLearningRate, "", "2 / learning rate");
  if (!series) return series;
  Series limit{.arm = series->arm, .layer = series->layer, .quantity = series->quantity};
  for (std::size_t i = 0; i < series->x.size(); ++i) {
    const double y = series->y[i] > 0 ? 2 / series->y[i] : kNoLimit;
    const bool inside = i > 0 && i + 1 < series->x.size();
    if (inside && series->y[i] == series->y[i - 1] && series->y[i] == series->y[i + 1]) continue;
    limit.x.push_back(series->x[i]);
    limit.y.push_back(y);
    limit.hollow.push_back(0);
  }
  return limit;
}

Series density_series(const store::Array& array, std::size_t arm, const std::string& quantity) {
  Series series{.arm = arm, .quantity = quantity};
  const auto points = static_cast<std::size_t>(array.shape[1]);
  const auto row = [&](std::size_t r) {
    const auto begin = array.data.begin() + static_cast<std::ptrdiff_t>(r * points);
    return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(points));
  };
  series.x = row(0);
  series.y = row(1);
  series.lower = row(2);
  series.upper = row(3);
  series.hollow.assign(points, 0);
  return series;
}

bool is_density(const store::Array& array) {
  return array.shape.size() == 2 && array.shape[0] == 4 && array.shape[1] > 0 &&
         array.data.size() == 4 * static_cast<std::size_t>(array.shape[1]);
}

}  // namespace

std::optional<Series> share_of_limit(const std::vector<Arm>& arms, std::size_t arm) {
  return quotient_of(series_of(arms, arm, id::kPreconditionedLambda, "", "λ1 over its limit"),
                     series_of(arms, arm, id::kStabilityLimit, "", ""));
}

Figure hessian_eigenvalues(const std::vector<Arm>& arms) {
  Figure figure{.id = "hessian_eigenvalues",
                .title = "The sharpest directions of the loss",
                .topic = Topic::kRate};
  figure.x.title = "step";
  const auto measured = std::any_of(
      arms.begin(), arms.end(), [](const Arm& arm) { return arm.has(id::kHessianLambda); });
  if (!measured) {
    figure.missing = "No Hessian eigenvalue was recorded: the Hessian probe did not run.";
    return figure;
  }
  figure.panels.push_back({.title = "largest eigenvalues, against 2 / learning rate",
                           .y = {.title = "eigenvalue", .log = true},
                           .height = 1.6});
  bool any_negative_end = false;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    for (int k = 1; arms[a].has(id::kHessianLambda.at(k)); ++k) {
      const std::string rank = std::to_string(k);
      add_series(figure,
                 0,
                 series_of(arms, a, id::kHessianLambda.of(rank), "", "λ" + rank),
                 Dash::kSolid,
                 k > 1);
    }
    add_series(figure,
               0,
               series_of(arms, a, id::kAlongGradient, "", "along the gradient"),
               Dash::kDash,
               true);
    add_series(figure, 0, descent_limit(arms, a), Dash::kDot);
    any_negative_end = any_negative_end || arms[a].has(id::kHessianLambdaMin);
  }
  const bool seen = std::any_of(
      arms.begin(), arms.end(), [](const Arm& arm) { return arm.has(id::kPreconditionedLambda); });
  if (seen) {
    const std::size_t panel = figure.panels.size();
    figure.panels.push_back(
        {.title = "preconditioned sharpness against the optimiser's stability limit",
         .y = {.title = "eigenvalue", .log = true},
         .height = 1.3});
    for (std::size_t a = 0; a < arms.size(); ++a) {
      add_series(figure,
                 panel,
                 series_of(arms, a, id::kPreconditionedLambda, "", "preconditioned sharpness"));
      add_series(figure,
                 panel,
                 series_of(arms, a, id::kPreconditionedAlongGradient, "", "along its step"),
                 Dash::kDash,
                 true);
      add_series(figure,
                 panel,
                 series_of(arms, a, id::kStabilityLimit, "", "its stability limit"),
                 Dash::kDot);
    }
  }
  if (seen) {
    const std::size_t panel = figure.panels.size();
    figure.panels.push_back(
        {.title = "the same as a share of that limit", .y = {.title = "share", .may_log = true}});
    for (std::size_t a = 0; a < arms.size(); ++a)
      add_series(figure, panel, share_of_limit(arms, a));
    figure.lines.push_back({panel, 1, "the edge of stability"});
  }
  if (any_negative_end) {
    const std::size_t panel = figure.panels.size();
    figure.panels.push_back({.title = "smallest eigenvalue", .y = {.title = "eigenvalue"}});
    for (std::size_t a = 0; a < arms.size(); ++a)
      add_series(figure, panel, series_of(arms, a, id::kHessianLambdaMin.at(1), "", "λmin"));
    figure.lines.push_back({panel, 0, "flat"});
  }
  figure.caption =
      "Top eigenvalues of the Hessian (the largest strong, the next faint) against 2 / learning "
      "rate "
      "(dotted), above which plain gradient descent is unstable; for another optimiser it is a "
      "landmark and not a limit. Dashed: the curvature along the gradient of the same loss.";
  if (seen)
    figure.caption +=
        " The optimiser takes steps of P⁻¹ times a mean of gradients: it is the preconditioned "
        "sharpness, the largest eigenvalue of P^(-1/2) H P^(-1/2), that must stay below its own "
        "limit (dotted in that panel), and training often rises to it and stays there.";
  return figure;
}

Figure hessian_density(const std::vector<Arm>& arms) {
  Figure figure{.id = "hessian_density",
                .title = "Where the curvature is at the end",
                .topic = Topic::kOptimiser};
  figure.x.title = "eigenvalue of the Hessian";
  for (std::size_t a = 0; a < arms.size(); ++a) {
    const auto found = arms[a].arrays.find({id::kHessianDensity, ""});
    if (found == arms[a].arrays.end()) continue;
    Arm::Arrays valid;
    std::copy_if(found->second.begin(),
                 found->second.end(),
                 std::back_inserter(valid),
                 [](const auto& entry) { return is_density(entry.second); });
    if (valid.empty()) continue;
    if (figure.panels.empty()) {
      figure.panels.push_back({.title = "share of directions at each curvature",
                               .y = {.title = "density", .log = true, .decades = 7},
                               .height = 2});
    }
    figure.series.push_back(density_series(valid.back().second, a, "at the last measurement"));
    figure.series.back().hover.assign(figure.series.back().x.size(),
                                      "step " + std::to_string(valid.back().first));
    if (valid.size() > 1) {
      Series first = density_series(valid.front().second, a, "at the first measurement");
      first.lower.clear();
      first.upper.clear();
      first.dash = Dash::kDot;
      first.hover.assign(first.x.size(), "step " + std::to_string(valid.front().first));
      figure.series.push_back(std::move(first));
    }
  }
  figure.caption =
      "Share of the Hessian's eigenvalues at each curvature, by stochastic Lanczos quadrature; the "
      "band "
      "spans the probes. Most directions are flat (the peak at 0); the few to the right limit "
      "the step: a narrow bump on its own is a single eigenvalue, smoothed. Densities below a "
      "ten-millionth of the peak are off the axis.";
  if (figure.panels.empty()) {
    figure.missing = "No density of eigenvalues was recorded: the Hessian probe ran without one.";
  }
  return figure;
}

Figure critical_steps(const std::vector<Arm>& arms) {
  Figure figure{
      .id = "critical_step", .title = "How much longer the steps could be", .topic = Topic::kRate};
  figure.x.title = "step";
  const Panel panel{.y = {.title = "multiple of the step", .log = true}};
  for (std::size_t a = 0; a < arms.size(); ++a) {
    if (!arms[a].has(id::kCriticalStep)) continue;
    if (figure.panels.empty()) figure.panels.push_back(panel);
    add_series(figure, 0, series_of(arms, a, id::kCriticalStep, "", "critical multiple"));
  }
  if (figure.panels.empty()) return figure;
  figure.lines.push_back({0, 1, "the step itself"});
  figure.caption =
      "The multiple of the optimiser's own step at which the loss on a fixed batch is back where "
      "it "
      "was before the step, found by forward passes; the band holds it. Near 1 the steps are as "
      "long as they can be. 2 over that multiple of the learning rate is the critical sharpness.";
  return figure;
}

}  // namespace kappascope::reports
