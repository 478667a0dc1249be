// SPDX-License-Identifier: Apache-2.0
#include "lab/study/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kappascope/core/statistics.h"

namespace kappascope::study {
namespace {

std::string name_of(const Comparison& c) {
  const auto [first, second] = std::minmax(c.arm, c.control);
  return fmt::format("{}\n{}\n{}\n{}", c.metric, c.condition, first, second);
}

}  // namespace

void Family::add(const Comparison& comparison) {
  add(name_of(comparison), comparison.difference.p);
}

void Family::add(const std::string& name, double p) {
  if (!std::isnan(p)) tests_[name] = p;
}

std::map<std::string, double> Family::all_corrected() const {
  std::vector<double> p;
  p.reserve(tests_.size());
  for (const auto& [name, value] : tests_) p.push_back(value);
  const auto corrected = holm(p);
  std::map<std::string, double> out;
  std::size_t i = 0;
  for (const auto& [name, value] : tests_) out[name] = corrected[i++];
  return out;
}

double Family::corrected(const std::string& name) const {
  const auto all = all_corrected();
  const auto found = all.find(name);
  return found == all.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

// Holm's procedure judges a test at the level over the number of those that are not found beside
// it; with more found beside it, it would have been found at less.
double Family::level() const {
  const auto all = all_corrected();
  const auto open =
      std::ranges::count_if(all, [](const auto& test) { return test.second >= kLevel; });
  return kLevel / static_cast<double>(std::max<std::ptrdiff_t>(open, 1));
}

void Family::correct(std::vector<Comparison>& comparisons) const {
  const auto all = all_corrected();
  const auto open =
      std::ranges::count_if(all, [](const auto& test) { return test.second >= kLevel; });
  for (auto& c : comparisons) {
    const auto found = all.find(name_of(c));
    c.corrected_p = found == all.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
    const auto rivals = open + (c.is_significant() ? 1 : 0);
    if (rivals > 0)
      c.difference.detectable = c.difference.detectable_at(kLevel / static_cast<double>(rivals));
  }
}

}  // namespace kappascope::study
