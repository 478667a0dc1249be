// SPDX-License-Identifier: Apache-2.0
#include "cli/study/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "kappascope/core/error.h"
#include "kappascope/store/run.h"

namespace kappascope::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool is_run(const fs::path& dir) {
  return fs::exists(dir / "run.sqlite");
}

bool is_usable(const std::string& status) {
  return status == "ok" || status == "converged" || status == "resolved";
}

RunEnd read_end(const fs::path& dir) {
  const store::RunReader run(dir);
  RunEnd end{dir, run.fact("label"), run.fact("condition"), run.fact("seed"), run.state(), {}};
  for (const auto& key : run.series()) {
    if (!key.layer.empty()) continue;
    const auto points = run.scalars(key);
    if (points.empty()) continue;
    const auto& [step, scalar] = points.back();
    end.values[key.name] = {is_usable(scalar.status) ? scalar.value : kNaN, step};
  }
  return end;
}

template <typename Get>
std::vector<std::string> in_order(const std::vector<RunEnd>& runs, Get get) {
  std::vector<std::string> found;
  for (const auto& run : runs) {
    if (std::find(found.begin(), found.end(), get(run)) == found.end()) found.push_back(get(run));
  }
  return found;
}

using BySeed = std::map<std::string, RunEnd::Last>;

/// Of the runs of one arm and condition; NaN where the run has failed.
BySeed values_of(const std::vector<RunEnd>& runs,
                 const std::string& arm,
                 const std::string& condition,
                 const std::string& metric) {
  BySeed found;
  for (const auto& run : runs) {
    if (run.arm != arm || run.condition != condition) continue;
    RunEnd::Last last{kNaN, -1};
    if (run.state != "failed") {
      const auto value = run.values.find(metric);
      if (value == run.values.end()) {
        throw UsageError(fmt::format("{} has not recorded {}", run.dir.string(), metric));
      }
      last = value->second;
    }
    if (!found.emplace(run.seed, last).second) {
      throw UsageError(
          fmt::format("two runs of arm '{}' have seed {} ({}): compare pairs runs by "
                      "seed, so leave one out",
                      arm,
                      run.seed,
                      run.dir.string()));
    }
  }
  return found;
}

std::vector<double> numbers(const BySeed& values) {
  std::vector<double> out;
  for (const auto& [seed, last] : values) out.push_back(last.value);
  return out;
}

/// Fills in the difference of the pairs that there are.
void compare_pairs(const BySeed& values, const BySeed& control, Comparison& out) {
  std::vector<double> a, b;
  for (const auto& [seed, last] : values) {
    const auto other = control.find(seed);
    if (other == control.end()) continue;
    const bool both = last.step >= 0 && other->second.step >= 0;
    if (both && last.step != other->second.step) {
      throw UsageError(
          fmt::format("{} was last recorded at step {} by {} and at step {} by {} "
                      "(seed {}): give the probe no budget (0) in such a study",
                      out.metric,
                      last.step,
                      out.arm,
                      other->second.step,
                      out.control,
                      seed));
    }
    a.push_back(last.value);
    b.push_back(other->second.value);
  }
  out.difference = paired_difference(a, b);
  out.unpaired = std::ssize(values) + std::ssize(control) - 2 * std::ssize(a);
}

nlohmann::json finite(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

/// What a reader should make of it.
std::string in_words(const Comparison& c) {
  const auto& d = c.difference;
  if (d.pairs < 2) return "too few pairs to tell";
  if (std::isnan(c.corrected_p))
    return "the same difference in every pair: nothing tells its error";
  if (d.detectable == 0) return "equal in every pair";
  if (c.corrected_p < 0.05) return d.mean > 0 ? "higher" : "lower";
  return fmt::format("not told apart (would have found {:.2g})", d.detectable);
}

}  // namespace

std::vector<RunEnd> read_ends(const std::vector<fs::path>& paths) {
  std::vector<RunEnd> ends;
  for (const auto& path : paths) {
    if (is_run(path)) {
      ends.push_back(read_end(path));
      continue;
    }
    require(fs::is_directory(path), path.string(), " is neither a run nor a folder of runs");
    std::vector<fs::path> inside;
    for (const auto& entry : fs::directory_iterator(path)) {
      if (is_run(entry.path())) inside.push_back(entry.path());
    }
    require(!inside.empty(), path.string(), " holds no runs");
    std::ranges::sort(inside);
    for (const auto& dir : inside) ends.push_back(read_end(dir));
  }
  return ends;
}

std::vector<Comparison> compare_runs(const std::vector<RunEnd>& runs,
                                     const std::string& control,
                                     const std::vector<std::string>& metrics) {
  const auto arms = in_order(runs, [](const RunEnd& run) { return run.arm; });
  const auto conditions = in_order(runs, [](const RunEnd& run) { return run.condition; });
  if (std::find(arms.begin(), arms.end(), control) == arms.end()) {
    throw UsageError("no run is labelled '" + control + "', which shall be the control");
  }
  for (const auto& run : runs) {
    require(run.state == "finished" || run.state == "failed",
            run.dir.string(),
            " is not finished (",
            run.state,
            "): go on with it first (kappascope train --resume, or the sweep again)");
  }
  std::vector<Comparison> all;
  for (const auto& metric : metrics) {
    const bool known = std::any_of(
        runs.begin(), runs.end(), [&](const RunEnd& run) { return run.values.contains(metric); });
    if (!known) throw UsageError("no run has recorded " + metric);
    for (const auto& condition : conditions) {
      const auto base = values_of(runs, control, condition, metric);
      for (const auto& arm : arms) {
        if (arm == control) continue;
        const auto values = values_of(runs, arm, condition, metric);
        if (values.empty() || base.empty()) continue;
        Comparison c;
        c.metric = metric;
        c.condition = condition;
        c.arm = arm;
        c.control = control;
        c.arm_median = median(numbers(values));
        c.control_median = median(numbers(base));
        compare_pairs(values, base, c);
        all.push_back(std::move(c));
      }
    }
  }
  std::vector<double> p;
  for (const auto& c : all) p.push_back(c.difference.p);
  const auto corrected = holm(p);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].corrected_p = corrected[i];
  return all;
}

void print_comparisons(const std::vector<Comparison>& comparisons) {
  std::string heading;
  for (const auto& c : comparisons) {
    const auto now = c.metric + (c.condition.empty() ? "" : ", " + c.condition);
    if (now != heading) {
      heading = now;
      fmt::print("\n{}: median of {} {:.6g}\n", heading, c.control, c.control_median);
      fmt::print("  {:<24} {:>11} {:>11} {:>25} {:>6} {:>9}\n",
                 "arm",
                 "median",
                 "difference",
                 "95 % interval",
                 "pairs",
                 "p (Holm)");
    }
    const auto& d = c.difference;
    fmt::print("  {:<24} {:>11.6g} {:>+11.3g} {:>25} {:>6} {:>9} {}\n",
               c.arm,
               c.arm_median,
               d.mean,
               d.pairs < 2 ? "-" : fmt::format("{:+.3g} to {:+.3g}", d.lower, d.upper),
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
