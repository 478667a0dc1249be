// SPDX-License-Identifier: Apache-2.0
#include "kappascope/study/warnings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "kappascope/core/require.h"
#include "kappascope/core/statistics.h"

namespace kappascope::study {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

using Steps = std::vector<std::int64_t>;

/// How many alarms stand before each step of a training, so that a stretch is counted at once; for
/// the shifts the training is a circle.
class Counts {
 public:
  Counts(const Steps& alarms, std::int64_t steps) : before_(static_cast<std::size_t>(steps) + 1) {
    for (const auto alarm : alarms)
      if (alarm >= 0 && alarm < steps) ++before_[static_cast<std::size_t>(alarm) + 1];
    for (std::size_t i = 1; i < before_.size(); ++i) before_[i] += before_[i - 1];
  }
  /// Whether one lies in [from, to), cut to the training.
  [[nodiscard]] bool any(std::int64_t from, std::int64_t to) const { return count(from, to) > 0; }
  /// In which share of all shifts one lies there.
  [[nodiscard]] double chance(std::int64_t from, std::int64_t to) const {
    const auto steps = static_cast<std::int64_t>(before_.size()) - 1;
    from = std::max<std::int64_t>(from, 0);
    to = std::min(to, steps);
    if (from >= to || steps == 0) return 0;
    std::int64_t hits = 0;
    for (std::int64_t shift = 0; shift < steps; ++shift) {
      const auto a = (from + shift) % steps, length = to - from;
      const bool hit = a + length <= steps ? count(a, a + length) > 0
                                           : count(a, steps) + count(0, a + length - steps) > 0;
      hits += hit ? 1 : 0;
    }
    return static_cast<double>(hits) / static_cast<double>(steps);
  }

 private:
  [[nodiscard]] std::int64_t count(std::int64_t from, std::int64_t to) const {
    const auto steps = static_cast<std::int64_t>(before_.size()) - 1;
    from = std::clamp<std::int64_t>(from, 0, steps);
    to = std::clamp<std::int64_t>(to, 0, steps);
    if (from >= to) return 0;
    return before_[static_cast<std::size_t>(to)] - before_[static_cast<std::size_t>(from)];
  }

  std::vector<std::int64_t> before_;
};

/// Sums of one rule over one training.
struct Sums {
  double spikes = 0, alarms = 0, wrong = 0;
  double warned = 0, warned_by_chance = 0, followed = 0, followed_by_chance = 0;
  double ahead = 0, ahead_by_chance = 0;

  Sums& operator+=(const Sums& other) {
    spikes += other.spikes;
    alarms += other.alarms;
    wrong += other.wrong;
    warned += other.warned;
    warned_by_chance += other.warned_by_chance;
    followed += other.followed;
    followed_by_chance += other.followed_by_chance;
    ahead += other.ahead;
    ahead_by_chance += other.ahead_by_chance;
    return *this;
  }
};

Steps outside_spikes(const Steps& alarms, const WatchedTraining& training) {
  Steps kept;
  for (const auto alarm : alarms) {
    const bool inside = std::ranges::any_of(training.spikes, [&](const auto& spike) {
      return alarm >= spike.first && alarm <= spike.second;
    });
    if (!inside) kept.push_back(alarm);
  }
  return kept;
}

const Steps& alarms_of(const WatchedTraining& training, const std::string& rule) {
  static const Steps none;
  const auto found = training.alarms.find(rule);
  return found == training.alarms.end() ? none : found->second;
}

/// The first alarm of the plain rules but this one in the horizon before a spike; the spike itself
/// where they are silent.
std::int64_t first_plain(const WatchedTraining& training,
                         const std::string& rule,
                         std::int64_t spike,
                         const WarningOptions& options) {
  std::int64_t first = spike;
  for (const auto& plain : options.plain) {
    if (plain == rule) continue;
    for (const auto alarm : outside_spikes(alarms_of(training, plain), training))
      if (alarm >= spike - options.horizon && alarm < first) first = alarm;
  }
  return first;
}

Sums sums_of(const WatchedTraining& training,
             const std::string& rule,
             const WarningOptions& options,
             std::vector<double>& leads) {
  const auto horizon = options.horizon;
  const auto all = alarms_of(training, rule);
  const auto calm = outside_spikes(all, training);
  const Counts counts(calm, training.steps), whole(all, training.steps);
  Sums sums;
  sums.alarms = static_cast<double>(calm.size());
  for (const auto alarm : calm) {
    const bool right = std::ranges::any_of(training.spikes, [&](const auto& spike) {
      return spike.first > alarm && spike.first <= alarm + horizon;
    });
    sums.wrong += right ? 0 : 1;
  }
  for (const auto& [begin, end] : training.spikes) {
    ++sums.spikes;
    if (counts.any(begin - horizon, begin)) {
      ++sums.warned;
      const auto first = std::ranges::lower_bound(calm, begin - horizon);
      leads.push_back(static_cast<double>(begin - *first));
    }
    sums.warned_by_chance += counts.chance(begin - horizon, begin);
    sums.followed += whole.any(begin, begin + horizon) ? 1 : 0;
    sums.followed_by_chance += whole.chance(begin, begin + horizon);
    const auto plain = first_plain(training, rule, begin, options);
    sums.ahead += counts.any(begin - horizon, plain) ? 1 : 0;
    sums.ahead_by_chance += counts.chance(begin - horizon, plain);
  }
  return sums;
}

/// What is read of the sums, in the order of WarningRecord.
std::vector<double> numbers_of(const Sums& s) {
  const auto over = [](double a, double b) { return b > 0 ? a / b : kNone; };
  return {over(s.wrong, s.alarms),
          over(s.warned, s.spikes),
          over(s.warned - s.warned_by_chance, s.spikes),
          over(s.followed - s.followed_by_chance, s.spikes),
          over(s.ahead, s.spikes),
          over(s.ahead - s.ahead_by_chance, s.spikes)};
}

/// A number's quantiles over resampled trainings, of which those that have it not are left out.
std::vector<double> quantiles(std::vector<double> values, const std::vector<double>& shares) {
  std::erase_if(values, [](double v) { return std::isnan(v); });
  std::vector<double> found(shares.size(), kNone);
  if (values.size() < 40) return found;
  std::ranges::sort(values);
  const auto last = static_cast<double>(values.size() - 1);
  for (std::size_t i = 0; i < shares.size(); ++i)
    found[i] = values[static_cast<std::size_t>(std::lround(shares[i] * last))];
  return found;
}

}  // namespace

std::vector<WarningRecord> judge_warnings(const std::vector<WatchedTraining>& trainings,
                                          const WarningOptions& options) {
  require(options.horizon >= 1 && options.resamples >= 1, "warnings need a horizon of a step");
  std::set<std::string> rules;
  for (const auto& training : trainings)
    for (const auto& [rule, alarms] : training.alarms) rules.insert(rule);
  const auto own = std::ranges::count_if(rules, [&](const std::string& rule) {
    return std::ranges::find(options.plain, rule) == options.plain.end();
  });
  std::vector<WarningRecord> records;
  for (const auto& rule : rules) {
    std::vector<Sums> each;
    std::vector<double> leads;
    Sums total;
    for (const auto& training : trainings) {
      each.push_back(sums_of(training, rule, options, leads));
      total += each.back();
    }
    WarningRecord record{.rule = rule, .alarms = static_cast<std::int64_t>(total.alarms)};
    record.lead = leads.empty() ? kNone : median(leads);
    const std::vector<WarningNumber*> to = {&record.false_share,
                                            &record.warned,
                                            &record.before,
                                            &record.after,
                                            &record.ahead,
                                            &record.ahead_of_chance};
    // The same trainings are drawn for each rule, so that rules are compared on the same.
    std::mt19937_64 generator(options.seed);
    std::vector<std::vector<double>> drawn(to.size());
    for (int i = 0; i < options.resamples && !each.empty(); ++i) {
      Sums sum;
      for (std::size_t k = 0; k < each.size(); ++k) sum += each[generator() % each.size()];
      const auto numbers = numbers_of(sum);
      for (std::size_t n = 0; n < to.size(); ++n) drawn[n].push_back(numbers[n]);
    }
    // A few trainings drawn again and again look surer than they are.
    constexpr std::ptrdiff_t kFewest = 5;
    const bool with_spikes =
        std::ranges::count_if(each, [](const Sums& s) { return s.spikes > 0; }) >= kFewest;
    const bool with_alarms =
        std::ranges::count_if(each, [](const Sums& s) { return s.alarms > 0; }) >= kFewest;
    const auto numbers = numbers_of(total);
    for (std::size_t n = 0; n < to.size(); ++n) {
      const bool enough = to[n] == &record.false_share ? with_alarms : with_spikes;
      constexpr double kTail = 0.025;
      const double shared = kTail / static_cast<double>(std::max<std::ptrdiff_t>(1, own));
      const auto ends =
          quantiles(enough ? drawn[n] : std::vector<double>{}, {kTail, 1 - kTail, shared});
      *to[n] = {numbers[n], ends[0], ends[1]};
      if (to[n] == &record.ahead_of_chance) record.ahead_at_least = ends[2];
    }
    records.push_back(std::move(record));
  }
  return records;
}

bool leads(const WarningRecord& record,
           const std::vector<WarningRecord>& all,
           const std::vector<std::string>& plain) {
  double best = 1;
  for (const auto& other : all) {
    if (std::ranges::find(plain, other.rule) != plain.end() && other.false_share.value < best)
      best = other.false_share.value;
  }
  return record.ahead_at_least > 0 && record.false_share.value <= best;
}

}  // namespace kappascope::study
