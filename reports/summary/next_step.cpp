// SPDX-License-Identifier: Apache-2.0
// What to do next: the most urgent of what the runs' numbers ask for.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "reports/runs/groups.h"
#include "reports/runs/layer_names.h"
#include "reports/summary/answers.h"

namespace kappascope::reports {
namespace {

std::string in_short(const Request& request, const LayerNames& short_name) {
  switch (request.action) {
    case Action::kFloat32:
      return "float32 for one layer";
    case Action::kLowerRate:
      return "a lower learning rate";
    case Action::kWarmUp:
      return "a longer warm-up";
    case Action::kLargerBatch:
      return "a larger batch";
    case Action::kSmallerBatch:
      return "a smaller batch";
    case Action::kNorm:
      return "a norm before a down-projection";
    case Action::kTryBias:
      return "a trial with a bias";
    case Action::kRevive:
      return "a new start for " + short_name(request.layer);
    case Action::kCheckBatch:
      return "the batch of one step again";
  }
  return "";
}

/// Of arms with seeds the one to keep; empty where the seeds say nothing.
std::string choice_of(const std::vector<Arm>& arms) {
  std::vector<Side> sides;  // of the other arms' losses to the first's
  for (std::size_t a = 1; a < arms.size(); ++a)
    if (const auto found = diagnose_loss(arms[a], arms[0])) sides.push_back(found->side);
  if (sides.empty()) return "";
  const auto better = static_cast<std::size_t>(std::ranges::count(sides, Side::kBelow));
  if (arms.size() == 2 && sides[0] != Side::kUndecided) return "keep " + arms[better].label;
  if (arms.size() == 2) return "nothing: the arms are not surely different";
  // Which of many, differences that are not corrected for their number do not say.
  return better == 0 ? fmt::format("nothing: no arm is surely better than {}", arms[0].label)
                     : fmt::format("choose among {} by kappascope compare", counted(better, "arm"));
}

/// An arm whose worst layer is badly conditioned: its place.
std::optional<std::size_t> badly_conditioned(const std::vector<Arm>& arms) {
  for (std::size_t a = 0; a < arms.size(); ++a)
    if (worst_layer_of(arms[a]).grade == Grade::kBad) return a;
  return std::nullopt;
}

Answer nothing_asked(const std::vector<Arm>& arms) {
  Answer out{.id = "next_step", .question = "What should I change next?", .grade = Grade::kGood};
  const bool single = std::ranges::any_of(arms, [](const Arm& arm) { return arm.seeds < 2; });
  const bool measured = std::ranges::any_of(
      arms, [](const Arm& arm) { return arm.has(id::kLearning) || arm.has(id::kKappas); });
  const auto bad = badly_conditioned(arms);
  out.answer = !measured                   ? "nothing measured yet"
               : arms.size() > 1 && single ? bad ? "run more seeds" : "nothing, but run more seeds"
               : bad                       ? "nothing that is known to help"
                                           : "nothing";
  if (!measured || bad) out.grade = Grade::kOpen;
  if (const auto choice = choice_of(arms); measured && !choice.empty()) out.answer = choice;
  out.why = !measured ? "No layer was measured."
            : !bad    ? "No number of these runs asks for a change."
                      : fmt::format(
                         "No number of these runs asks for a change of one setting. That {} is "
                            "slow to learn asks for none either: what would mend it is not known.",
                         LayerNames(arms)(worst_layer_of(arms[*bad]).point->scalar.layer));
  if (arms.size() > 1 && single)
    out.why +=
        fmt::format(" Which arm is better, one run per arm cannot say: {}.", how_to_be_surer(arms));
  return out;
}

}  // namespace

std::vector<Request> requests_of(const std::vector<Arm>& arms) {
  const bool tried = diagnose_bias(arms).present;
  std::vector<Request> out;
  for (std::size_t a = 0; a < arms.size(); ++a) {
    const auto found = diagnose(arms[a]);
    auto all = suggestions(arms[a], found);
    const auto steps = found.next_steps();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (tried && steps[i]->action == Action::kTryBias) continue;
      out.push_back({a,
                     steps[i]->question,
                     *steps[i]->action,
                     steps[i]->grade,
                     steps[i]->evidence.empty() ? "" : steps[i]->evidence.front().layer,
                     std::move(all[i])});
    }
  }
  std::ranges::stable_sort(out, std::ranges::greater(), &Request::grade);
  return out;
}

Answer next_step(const std::vector<Arm>& arms) {
  const auto requests = requests_of(arms);
  if (requests.empty()) return nothing_asked(arms);
  const Request& first = requests.front();
  const Suggestion& what = first.suggestion;
  Answer out{
      .id = "next_step",
      .question = "What should I change next?",
      .answer = in_short(first, LayerNames(arms)),
      .grade = first.grade,
      .readings = {{.arm = first.arm,
                    .number = fmt::format("try {}, because {}", what.attempt, what.evidence)}},
      .why = fmt::format("It has worked if {}. Not known: {}.", what.success, what.unknown)};
  if (requests.size() > 1)
    out.why += fmt::format(" `kappascope advise` has {}.",
                           counted(requests.size() - 1, "other suggestion"));
  return out;
}

}  // namespace kappascope::reports
