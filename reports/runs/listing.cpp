// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/listing.h"

#include <algorithm>
#include <ctime>
#include <iomanip>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include "reports/diagnosis/questions.h"

namespace kappascope::reports {
namespace {

/// Seconds since 1970 of an ISO 8601 time in UTC.
std::optional<std::time_t> parse_time(const std::string& text) {
  std::tm parts{};
  std::istringstream in(text);
  in >> std::get_time(&parts, "%Y-%m-%dT%H:%M:%S");
  return in.fail() ? std::nullopt : std::optional(timegm(&parts));
}

double seconds_between(const std::string& begin, const std::string& end) {
  const auto from = parse_time(begin), to = parse_time(end);
  return from && to ? std::difftime(*to, *from) : std::numeric_limits<double>::quiet_NaN();
}

double trained_seconds(const store::RunReader& run) {
  const auto created = run.fact("created");
  std::map<std::int64_t, std::string> resumed;  // the last time after each step
  for (const auto& [step, time, event] : run.events())
    if (event.kind == "resumed") resumed[step] = time;
  double seconds = seconds_between(created, run.last_written());
  for (const auto& [step, time] : resumed) {
    if (step >= run.last_step()) continue;  // nothing came after
    // What a resumption did not keep has left no time but the start's.
    const auto stopped = run.last_written(step);
    seconds -= seconds_between(stopped.empty() ? created : stopped, time);
  }
  return seconds;
}

double value_of(const std::optional<store::StepValue>& point) {
  return !point ? std::numeric_limits<double>::quiet_NaN() : point->scalar.value;
}

}  // namespace

RunSummary summary_of(const std::filesystem::path& path) {
  const store::RunReader run(path);
  Arm arm;
  arm.last_step = run.last_step();
  const std::string wanted[] = {id::kLossTrain,
                                id::kLossTest,
                                id::kKappaSecondMoment,
                                id::kKappaWithBias,
                                id::kLearningSecondMoment,
                                id::kLearningWithBias};
  for (const auto& key : run.series()) {
    if (std::ranges::find(wanted, key.name) != std::end(wanted)) read_on(run, key, arm);
  }
  RunSummary out{.label = run.fact("label"),
                 .state = run.state(),
                 .created = run.fact("created"),
                 .seconds = trained_seconds(run),
                 .steps = arm.last_step + 1,
                 .loss = value_of(arm.last(id::kLossTrain)),
                 .test_loss = value_of(arm.last(id::kLossTest))};
  const auto keep = [](const WorstLayer& worst, RunSummary::Worst& to) {
    if (worst.point) to = {worst.point->scalar.layer, worst.point->scalar};
  };
  keep(slowest_layer_of(arm), out.slowest);
  keep(worst_conditioned_of(arm), out.worst_kappa);
  out.worst_layer = worst_layer_of(arm);
  out.damaged = run.damaged().size();
  return out;
}

}  // namespace kappascope::reports
