// SPDX-License-Identifier: Apache-2.0
#include "cli/study/comparison.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace kappascope::cli {
namespace {

using store::Comparison;

nlohmann::json finite(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

/// "-" for what is not there.
std::string number(double value, const char* format) {
  return std::isnan(value) ? "-" : fmt::format(fmt::runtime(format), value);
}

/// What a reader should make of it.
std::string in_words(const Comparison& c) {
  const auto& d = c.difference;
  if (d.pairs < 2) return "too few pairs to tell";
  if (std::isnan(c.corrected_p))
    return "the same difference in every pair: nothing tells its error";
  if (d.is_same_in_all()) return "equal in every pair";
  if (c.corrected_p < 0.05) return d.mean > 0 ? "higher" : "lower";
  return fmt::format("not told apart (would have found {:.2g})", d.detectable);
}

}  // namespace

void print_comparisons(const std::vector<Comparison>& comparisons) {
  std::string heading;
  for (const auto& c : comparisons) {
    const auto now = c.metric + (c.condition.empty() ? "" : ", " + c.condition);
    if (now != heading) {
      heading = now;
      fmt::print("\n{}: median of {} {}\n", heading, c.control, number(c.control_median, "{:.6g}"));
      fmt::print("  {:<24} {:>11} {:>11} {:>25} {:>6} {:>9}\n",
                 "arm",
                 "median",
                 "difference",
                 "95 % interval",
                 "pairs",
                 "p (Holm)");
    }
    const auto& d = c.difference;
    fmt::print("  {:<24} {:>11} {:>11} {:>25} {:>6} {:>9} {}\n",
               c.arm,
               number(c.arm_median, "{:.6g}"),
               number(d.mean, "{:+.3g}"),
               std::isnan(d.lower) ? "-" : fmt::format("{:+.3g} to {:+.3g}", d.lower, d.upper),
               d.pairs,
               std::isnan(c.corrected_p) ? "-" : fmt::format("{:.2g}", c.corrected_p),
               in_words(c));
    if (d.left_out > 0) {
      fmt::print(
          "  {:<24} {} of its pairs left out: a loss left the finite numbers, or a value is not "
          "to be used\n",
          "",
          d.left_out);
    }
    if (c.unpaired > 0)
      fmt::print("  {:<24} {} runs without a partner of their seed\n", "", c.unpaired);
  }
}

nlohmann::json comparisons_json(const std::vector<Comparison>& comparisons) {
  auto out = nlohmann::json::array();
  for (const auto& c : comparisons) {
    const auto& d = c.difference;
    out.push_back({{"metric", c.metric},
                   {"condition", c.condition},
                   {"arm", c.arm},
                   {"control", c.control},
                   {"median", finite(c.arm_median)},
                   {"control_median", finite(c.control_median)},
                   {"pairs", d.pairs},
                   {"left_out", d.left_out},
                   {"unpaired", c.unpaired},
                   {"difference", finite(d.mean)},
                   {"lower", finite(d.lower)},
                   {"upper", finite(d.upper)},
                   {"p", finite(d.p)},
                   {"p_holm", finite(c.corrected_p)},
                   {"effect", finite(d.effect)},
                   {"detectable", finite(d.detectable)}});
  }
  return out;
}

}  // namespace kappascope::cli
