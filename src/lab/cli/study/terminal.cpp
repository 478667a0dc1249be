// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/study/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "cli/progress.h"
#include "cli/say.h"
#include "core/printable.h"
#include "core/table.h"

namespace kappascope::cli {
namespace {

using study::Comparison;

/// "-" for what is not there.
std::string number(double value, const char* format) {
  return std::isnan(value) ? "-" : fmt::format(fmt::runtime(format), value);
}

std::string conclusion(const Comparison& c) {
  const auto& d = c.difference;
  if (d.pairs < 2) return "fewer than two pairs: not decided";
  if (std::isnan(c.corrected_p)) return "the same difference in every pair: no error estimate";
  if (d.is_same_in_all()) return "equal in every pair";
  if (c.is_significant()) return d.mean > 0 ? "higher" : "lower";
  return fmt::format("not significant (detectable: {:.2g})", d.detectable);
}

std::vector<std::string> row_of(const Comparison& c) {
  const auto& d = c.difference;
  return {c.arm,
          number(c.arm_median, "{:.6g}"),
          number(d.mean, "{:+.3g}"),
          std::isnan(d.lower) ? "-" : fmt::format("{:+.3g} to {:+.3g}", d.lower, d.upper),
          std::to_string(d.pairs),
          number(c.corrected_p, "{:.2g}"),
          conclusion(c)};
}

void print_left_out(const Comparison& c) {
  if (c.difference.left_out > 0) {
    say("  {}: pairs left out: {} (a run diverged, or a value is unusable)\n",
        c.arm,
        c.difference.left_out);
  }
  if (c.unpaired > 0) say("  {}: runs without a partner of the same seed: {}\n", c.arm, c.unpaired);
}

}  // namespace

void print_comparisons(const std::vector<Comparison>& comparisons) {
  for (auto first = comparisons.begin(); first != comparisons.end();) {
    const auto last = std::find_if(first, comparisons.end(), [&](const Comparison& c) {
      return c.metric != first->metric || c.condition != first->condition;
    });
    say("\n{}{}{}: median of {} {}\n",
        first->metric,
        first->condition.empty() ? "" : ", ",
        first->condition,
        first->control,
        number(first->control_median, "{:.6g}"));
    Rows rows = {{"arm", "median", "difference", "95 % interval", "pairs", "p (Holm)", ""}};
    std::transform(first, last, std::back_inserter(rows), row_of);
    say("{}", Lines{table_text(std::move(rows), terminal_width())});
    std::for_each(first, last, print_left_out);
    first = last;
  }
}

void print_result(const study::StudyResult& result) {
  print_comparisons(result.comparisons);
  for (const auto& claim : result.verdicts) {
    say("\n{}: {}\n  {}\n  {}\n",
        claim.claim,
        to_string(claim.verdict.outcome),
        claim.statement,
        claim.verdict.condition);
  }
}

}  // namespace kappascope::cli
