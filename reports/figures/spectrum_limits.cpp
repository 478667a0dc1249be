// SPDX-License-Identifier: Apache-2.0
// What the largest eigenvalue of a stored spectrum must stay below.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/figures/builders.h"
#include "reports/number_format.h"

namespace kappascope::reports {
namespace {

/// Lines of limits farther above the values than this factor would press them together.
constexpr double kFarAbove = 300;

}  // namespace

void add_spectrum_limits(Figure& figure, const SpectrumGroup& group, const std::vector<Arm>& arms) {
  const auto any = [&](bool own) {
    return std::ranges::any_of(group.spectra, [own](const auto& s) {
      return s.bounds_the_step() && (s.own_limit > 0) == own;
    });
  };
  if (any(true)) {
    figure.caption +=
        " Above its limit, by its learning rate and momentum, the optimiser overshoots along the "
        "sharpest direction; training often rises to it and stays there.";
  }
  if (any(false)) {
    figure.caption +=
        " Above 2 / learning rate plain gradient descent is unstable; for Adam that limit holds "
        "for the preconditioned Hessian, so here it is a landmark.";
  }
  double largest = 0;
  for (const auto& spectrum : group.spectra) {
    for (const double v : spectrum.values) largest = std::max(largest, std::abs(v));
  }
  std::map<double, std::string> labels;  // by the limit
  const auto add = [&](double limit, const std::string& label) {
    if (limit > kFarAbove * largest) {
      figure.caption += fmt::format(" {} = {} is far above the axis.", label, words(limit));
    } else {
      labels.emplace(limit, label + " = " + words(limit));
    }
  };
  using Limit = std::pair<double, std::string>;  // and what it is
  std::map<Limit, std::vector<std::string>> at_step;
  std::map<Limit, std::vector<std::string>> at_peak;
  for (const auto& spectrum : group.spectra) {
    if (!spectrum.bounds_the_step()) continue;
    const Arm& arm = arms[spectrum.arm];
    const double peak = largest_rate(arm);
    const bool own = spectrum.own_limit > 0;
    at_step[{spectrum.limit(),
             own ? "the optimiser's limit at this step" : "2 / learning rate of this step"}]
        .push_back(arm.label);
    if (peak > spectrum.rate) {
      at_peak[{spectrum.limit_at(peak),
               own ? "its limit at the largest learning rate" : "2 / largest learning rate"}]
          .push_back(arm.label);
    }
  }
  const auto whose = [&](const auto& all, const std::vector<std::string>& names) {
    return all.size() > 1 ? " (" + listed(names) + ")" : std::string();
  };
  for (const auto* limits : {&at_peak, &at_step}) {
    for (const auto& [limit, names] : *limits)
      add(limit.first, limit.second + whose(*limits, names));
  }
  for (const auto& [limit, label] : labels) figure.lines.push_back({0, limit, label});
}

}  // namespace kappascope::reports
