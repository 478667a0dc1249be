// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

#include "reports/number_format.h"
#include "reports/runs/median_arm.h"

namespace kappascope::reports {
namespace {

using Runs = std::vector<const Arm*>;

/// Settings in which the seeds of an arm may differ, and the machines that ran them.
constexpr std::array<std::string_view, 3> kFree = {"seed ", "threads ", "device "};

std::string without_free(const std::string& config) {
  std::string out;
  for (std::size_t begin = 0; begin < config.size();) {
    const std::size_t end = std::min(config.find('\n', begin), config.size());
    const std::string_view line(config.data() + begin, end - begin);
    if (std::ranges::none_of(kFree, [&](auto name) { return line.starts_with(name); }))
      out += std::string(line) + "\n";
    begin = end + 1;
  }
  return out;
}

/// Equal where two runs are of one arm; empty where a run tells too little of itself.
std::vector<std::string> kind_of(const Arm& run) {
  if (run.fact("label").empty() || run.fact("seed").empty()) return {};
  std::vector<std::string> kind = {without_free(run.fact("config"))};
  for (const char* fact :
       {"label", "condition", "data", "model", "optimizer", "loss", "parameters", "precision"})
    kind.push_back(run.fact(fact));
  return kind;
}

/// Runs of one kind with one seed twice are two groups: a repetition is no seed.
std::vector<Runs> grouped_runs(const std::vector<Arm>& runs) {
  std::vector<Runs> groups;
  std::map<std::vector<std::string>, std::vector<std::size_t>> places;
  for (const Arm& run : runs) {
    const auto kind = kind_of(run);
    auto& known = places[kind];
    const auto free = std::ranges::find_if(known, [&](std::size_t g) {
      return !kind.empty() && std::ranges::none_of(groups[g], [&](const Arm* other) {
        return other->fact("seed") == run.fact("seed");
      });
    });
    if (free != known.end()) {
      groups[*free].push_back(&run);
    } else {
      known.push_back(groups.size());
      groups.push_back({&run});
    }
  }
  return groups;
}

/// "a", "a, b", of more than five "a to e (7 values)".
std::string joined_values(const Runs& runs, const std::string& key) {
  constexpr std::size_t kFew = 5;
  std::set<std::string, decltype(&natural_less)> values(&natural_less);
  for (const Arm* run : runs) values.insert(run->fact(key));
  if (values.size() > kFew)
    return fmt::format("{} to {} ({} values)", *values.begin(), *values.rbegin(), values.size());
  return fmt::format("{}", fmt::join(values, ", "));
}

/// "finished"; where they differ "4 finished, 1 failed".
std::string joined_states(const Runs& runs) {
  std::map<std::string, std::size_t> counts;
  for (const Arm* run : runs) ++counts[run->state];
  if (counts.size() == 1) return counts.begin()->first;
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [state, count] : counts) parts.push_back(fmt::format("{} {}", count, state));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Arm group_arm(const Runs& runs) {
  Runs whole;
  std::size_t longest = 0;
  for (const Arm* run : runs) {
    if (run->state != "failed") whole.push_back(run);
    longest = std::max(longest, run->series(id::kLossTrain).size());
  }
  Arm out = median_arm("", whole.empty() ? runs : whole, smoothing_window(longest));
  out.state = joined_states(runs);
  for (auto& [key, value] : out.facts) {
    if (key != "label" && key != "condition" && key != "config") value = joined_values(runs, key);
  }
  for (const Arm* run : runs) {
    out.events.insert(out.events.end(), run->events.begin(), run->events.end());
    out.verdicts.insert(out.verdicts.end(), run->verdicts.begin(), run->verdicts.end());
    out.damaged.insert(out.damaged.end(), run->damaged.begin(), run->damaged.end());
    out.last_written = std::max(out.last_written, run->last_written);
  }
  out.runs = runs;
  return out;
}

/// A sweep leaves the settings of its runs in their folder, and at its end a result.
bool is_of_study(const Arm& run) {
  const auto dir = std::filesystem::absolute(run.dir).lexically_normal();
  const auto path = dir.has_filename() ? dir : dir.parent_path();
  std::error_code ignored;
  return std::filesystem::exists(
             path.parent_path() / "settings" / (path.filename().string() + ".ini"), ignored) ||
         std::filesystem::exists(path.parent_path() / "study" / "run.sqlite", ignored);
}

/// The last value of each seed that one run alone has.
std::map<std::string, double> values_by_seed(const Arm& arm, const std::string& series) {
  std::map<std::string, double> values;
  std::set<std::string> repeated;
  for (const Arm* run : runs_of(arm)) {
    const auto last = run->last(series);
    const auto seed = run->fact("seed");
    if (!last || seed.empty() || run->state == "failed") continue;
    if (!values.emplace(seed, last->scalar.value).second) repeated.insert(seed);
  }
  for (const auto& seed : repeated) values.erase(seed);
  return values;
}

}  // namespace

PairedDifference difference_by_seed(const Arm& a, const Arm& b, const std::string& series) {
  const auto ours = values_by_seed(a, series), theirs = values_by_seed(b, series);
  std::vector<double> of_a, of_b;
  for (const auto& [seed, value] : ours) {
    const auto other = theirs.find(seed);
    if (other == theirs.end()) continue;
    of_a.push_back(value);
    of_b.push_back(other->second);
  }
  return paired_difference(of_a, of_b);
}

Groups::Groups(const std::vector<Arm>& runs) : runs_(&runs) {
  const auto groups = grouped_runs(runs);
  if (groups.size() == runs.size()) return;
  for (const auto& group : groups)
    own_.push_back(group.size() == 1 ? *group.front() : group_arm(group));
  label_arms(own_);
  // The first screen says of how many seeds the medians are, where all are of as many.
  const auto size = [](const Arm& arm) { return arm.runs.size(); };
  const auto [fewest, most] = std::ranges::minmax(own_, {}, size);
  if (fewest.runs.size() == most.runs.size()) return;
  for (Arm& arm : own_) {
    if (!arm.runs.empty()) arm.label += " · " + counted(arm.runs.size(), "seed");
  }
}

std::vector<const Arm*> runs_of(const Arm& arm) {
  return arm.runs.empty() ? std::vector<const Arm*>{&arm} : arm.runs;
}

std::vector<const Arm*> runs_of(const std::vector<Arm>& arms) {
  std::vector<const Arm*> runs;
  for (const Arm& arm : arms) {
    const auto some = runs_of(arm);
    runs.insert(runs.end(), some.begin(), some.end());
  }
  return runs;
}

std::string how_to_be_surer(const std::vector<Arm>& arms) {
  if (std::ranges::all_of(arms, [](const Arm& arm) { return arm.runs.size() > 1; }))
    return kComparePairs;
  if (std::ranges::any_of(runs_of(arms), [](const Arm* run) { return is_of_study(*run); }))
    return "more `seeds` in the study's file separate an arm from chance, and `kappascope compare` "
           "tests it";
  return "`kappascope sweep` runs several seeds";
}

}  // namespace kappascope::reports
