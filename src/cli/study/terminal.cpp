// SPDX-License-Identifier: Apache-2.0
#include "cli/study/terminal.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

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
  return fmt::format("not told apart (detectable: {:.2g})", d.detectable);
}

void print_row(const Comparison& c) {
  const auto& d = c.difference;
  fmt::print("  {:<24} {:>11} {:>11} {:>25} {:>6} {:>9} {}\n",
             c.arm,
             number(c.arm_median, "{:.6g}"),
             number(d.mean, "{:+.3g}"),
             std::isnan(d.lower) ? "-" : fmt::format("{:+.3g} to {:+.3g}", d.lower, d.upper),
             d.pairs,
             std::isnan(c.corrected_p) ? "-" : fmt::format("{:.2g}", c.corrected_p),
             conclusion(c));
  if (d.left_out > 0) {
    fmt::print(
        "  {:<24} pairs left out: {} (a run diverged, or a value is unusable)\n", "", d.left_out);
  }
  if (c.unpaired > 0)
    fmt::print("  {:<24} runs without a partner of the same seed: {}\n", "", c.unpaired);
}

}  // namespace

void print_comparisons(const std::vector<Comparison>& comparisons) {
  std::string printed;
  for (const auto& c : comparisons) {
    const auto heading = c.metric + (c.condition.empty() ? "" : ", " + c.condition);
    if (heading != printed) {
      printed = heading;
      fmt::print("\n{}: median of {} {}\n", heading, c.control, number(c.control_median, "{:.6g}"));
      fmt::print("  {:<24} {:>11} {:>11} {:>25} {:>6} {:>9}\n",
                 "arm",
                 "median",
                 "difference",
                 "95 % interval",
                 "pairs",
                 "p (Holm)");
    }
    print_row(c);
  }
}

void print_result(const study::StudyResult& result) {
  print_comparisons(result.comparisons);
  for (const auto& claim : result.verdicts) {
    fmt::print("\n{}: {}\n  {}\n  {}\n",
               claim.claim,
               to_string(claim.verdict.outcome),
               claim.statement,
               claim.verdict.condition);
  }
}

}  // namespace kappascope::cli
