// SPDX-License-Identifier: Apache-2.0
#include "lab/report/forest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/markdown.h"
#include "kappascope/store/schema/series.h"

namespace kappascope::reports {
namespace {

constexpr double kReach = 0.05;  // of the axis, either way
constexpr int kHalfAxis = 20;    // of one half

/// Where a share stands among the letters of the axis, cut off at its ends.
int letter_of(double share) {
  const auto at = static_cast<int>(std::lround(share / kReach * kHalfAxis));
  return kHalfAxis + std::clamp(at, -kHalfAxis, kHalfAxis);
}

/// "    :   [--o-|-]  :    ": zero is |, kMatters :, and what lies beyond the axis < or >.
std::string drawn(double mean, double lower, double upper) {
  std::string axis(2 * kHalfAxis + 1, ' ');
  const auto put = [&](double share, char letter) {
    axis[static_cast<std::size_t>(letter_of(share))] = letter;
  };
  for (int i = letter_of(lower); i <= letter_of(upper); ++i)
    axis[static_cast<std::size_t>(i)] = '-';
  for (const double share : {-kMatters, kMatters}) put(share, ':');
  put(0, '|');
  put(lower, lower < -kReach ? '<' : '[');
  put(upper, upper > kReach ? '>' : ']');
  if (std::abs(mean) <= kReach) put(mean, 'o');
  return axis;
}

const char* reading(double lower, double upper) {
  if (lower > -kMatters && upper < kMatters) return "no difference that matters";
  if (upper < 0) return "lower";
  if (lower > 0) return "higher";
  return "open";
}

}  // namespace

std::string forest_table(const std::vector<study::StudyResult>& results) {
  std::string rows;
  for (const auto& result : results) {
    for (const auto& one : result.comparisons) {
      const auto& d = one.difference;
      if (one.metric != store::id::kLossTest || !(one.control_median > 0)) continue;
      const double mean = d.mean / one.control_median, lower = d.lower / one.control_median,
                   upper = d.upper / one.control_median;
      if (!std::isfinite(lower) || !std::isfinite(upper)) continue;
      rows += fmt::format("| {} | {} | {} − {} | {:+.2f} % | {:+.2f} to {:+.2f} | `{}` | {} |\n",
                          markdown_cell(result.name),
                          markdown_cell(one.condition),
                          markdown_cell(one.arm),
                          markdown_cell(one.control),
                          100 * mean,
                          100 * lower,
                          100 * upper,
                          drawn(mean, lower, upper),
                          reading(lower, upper));
    }
  }
  if (rows.empty()) return "";
  return fmt::format(
             "\n## The test loss of every arm against its control\n\n"
             "In per cent of the control's median, paired by seed, with the 95 % interval of one "
             "comparison alone. The axis goes from\n-{0:g} to +{0:g} %; below {1:g} % (`:`) a "
             "difference is taken not to matter.\n\n"
             "| study | condition | arm | difference | 95 % interval | | reads |\n"
             "|---|---|---|--:|--:|---|---|\n",
             100 * kReach,
             100 * kMatters) +
         rows;
}

}  // namespace kappascope::reports
