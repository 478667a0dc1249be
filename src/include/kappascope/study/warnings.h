// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace kappascope::study {

/// Do alarms come before the spikes of a loss? One training, as it was stored.
struct WatchedTraining {
  std::int64_t steps = 0;
  /// First and last step of each spike of the training loss; a loss that is no number is one.
  std::vector<std::pair<std::int64_t, std::int64_t>> spikes{};
  /// By rule, the steps at which it spoke, ascending.
  std::map<std::string, std::vector<std::int64_t>> alarms{};
};

struct WarningOptions {
  std::int64_t horizon = 50;  ///< steps before a spike in which an alarm counts as its warning
  /// The rules that anybody has: what leads must come before all of them.
  std::vector<std::string> plain{};
  int resamples = 4000;  ///< of the trainings, for the intervals
  std::uint64_t seed = 1;
};

/// A number and its 95 % interval over trainings (bootstrap by percentiles). NaN where there is no
/// spike, or no alarm, to count; the interval also below five trainings that have one.
struct WarningNumber {
  double value = 0, lower = 0, upper = 0;
};

/// What one rule's alarms were worth. The alarms raised while a spike was on say nothing of what
/// comes and count nowhere; of one at the first step of a spike, the spike is there already.
struct WarningRecord {
  std::string rule;
  std::int64_t alarms = 0;      ///< outside of spikes
  WarningNumber false_share{};  ///< of these: no spike begins within the horizon
  WarningNumber warned{};       ///< share of the spikes with an alarm in the horizon before
  double lead = 0;              ///< steps from the first such alarm to its spike, the median
  /// The same less what chance gives: the share with the rule's own alarms of each training shifted
  /// in a circle, over all shifts.
  WarningNumber before{};
  /// Share of the spikes with an alarm in the horizon from the first step of the spike on, less
  /// what chance gives: a rule that follows.
  WarningNumber after{};
  /// Share of the spikes that it announces before any plain rule does (in the horizon), and the
  /// same less what chance gives. Of a plain rule: before the other ones.
  WarningNumber ahead{}, ahead_of_chance{};
  /// The lower end of the last, at a level shared among all rules but the plain ones (Bonferroni):
  /// of many rules that know nothing, one would seem to lead.
  double ahead_at_least = 0;
};

/// One record a rule, in the order of their names. Costs, a training, its steps times its spikes
/// for each rule, and `resamples` sums.
std::vector<WarningRecord> judge_warnings(const std::vector<WatchedTraining>& trainings,
                                          const WarningOptions& options);

/// Whether the rule leads the plain ones: what it announces before them beyond chance is above
/// zero, corrected for the number of rules, and it is wrong no more often than the best of them, by
/// their values.
bool leads(const WarningRecord& record,
           const std::vector<WarningRecord>& all,
           const std::vector<std::string>& plain);

}  // namespace kappascope::study
