// SPDX-License-Identifier: Apache-2.0
#include "kappascope/reports/study/warnings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "kappascope/core/markdown.h"
#include "kappascope/core/printable.h"
#include "kappascope/store/schema/alarms.h"

namespace kappascope::reports {
namespace {

using study::WarningNumber;
using study::WarningRecord;

std::string percent_of(double share) {
  return std::isnan(share) ? "–" : fmt::format("{:.0f}", 100 * share);
}

std::string cell(const WarningNumber& number) {
  if (std::isnan(number.value)) return "–";
  if (std::isnan(number.lower)) return percent_of(number.value);
  return fmt::format(
      "{} [{}, {}]", percent_of(number.value), percent_of(number.lower), percent_of(number.upper));
}

bool is_plain(const std::string& rule, const WarningStudy& study) {
  return std::ranges::find(study.plain, rule) != study.plain.end();
}

std::string role_of(const std::string& rule, const WarningStudy& study) {
  if (is_plain(rule, study)) return "plain rule";
  const auto id = store::find_alarm(rule);
  return id ? std::string(to_string(store::info_of(*id).role)) : "variant";
}

/// Whether there are spikes enough to say that it leads, or does not.
bool is_told(const WarningRecord& record) {
  return !std::isnan(record.ahead_at_least);
}

std::string table(const WarningGroup& group, const WarningStudy& study) {
  std::string text = fmt::format(
      "\n## {}\n\n{} trainings of {} steps in all, {} with {} spikes.\n\n"
      "| rule | shipped as | alarms | false, % | spikes warned of, % | lead, steps | before less "
      "chance | after less chance | ahead of the plain rules, % | the same less chance | leads |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n",
      markdown_text(group.name),
      group.trainings,
      group.steps,
      group.with_spikes,
      group.spikes);
  for (const auto& record : group.records) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                        markdown_cell(record.rule),
                        role_of(record.rule, study),
                        record.alarms,
                        cell(record.false_share),
                        cell(record.warned),
                        std::isnan(record.lead) ? "–" : fmt::format("{:.0f}", record.lead),
                        cell(record.before),
                        cell(record.after),
                        cell(record.ahead),
                        cell(record.ahead_of_chance),
                        !is_told(record)                                   ? "–"
                        : study::leads(record, group.records, study.plain) ? "yes"
                                                                           : "no");
  }
  return text;
}

/// What an interval less chance says.
std::string side(const WarningNumber& number, const char* does) {
  if (std::isnan(number.lower)) return fmt::format("whether it {}s cannot be told", does);
  if (number.lower > 0) return fmt::format("it {}s", does);
  if (number.upper < 0) return fmt::format("it {}s less often than chance", does);
  return fmt::format("it is not shown to {}", does);
}

std::string of_kappa(const WarningGroup& group, const WarningRecord& record) {
  return fmt::format(
      "- {}, {}: {} and {}. In the steps before a spike it speaks for {} more spikes in a hundred "
      "than chance, in those from its begin on for {}.\n",
      markdown_text(group.name),
      markdown_text(record.rule),
      side(record.before, "lead"),
      side(record.after, "follow"),
      cell(record.before),
      cell(record.after));
}

}  // namespace

std::string warnings_markdown(const WarningStudy& study) {
  std::string text = fmt::format(
      "{}\n\n"
      "Generated from stored runs: do not edit.\n\n    {}\n\n"
      "A spike is a training loss 8 robust deviations above the 50 calm ones before it, or one "
      "that "
      "is no number. An alarm warns of a spike that begins within {} steps after it, and is false "
      "where none does; alarms within a spike, and those of the first {} steps, before which no "
      "spike can be told, count nowhere. Chance: the rule's own alarms of each training, shifted "
      "in "
      "a circle by every number of steps. After: an alarm in the {} steps from the begin of the "
      "spike on. Ahead: before {} has spoken in those steps. Intervals: 95 %, over resampled "
      "trainings, from five that have a spike (or an alarm) on. A rule leads where what it "
      "announces ahead of the plain ones lies above chance "
      "at 95 % over all rules together (Bonferroni), and it is false no more often than the best "
      "plain rule.\n",
      kWarningsMark,
      printable(study.command),
      study.horizon,
      study.first_step,
      study.horizon,
      fmt::join(study.plain, " and "));
  const auto& all = study.groups.back();
  std::vector<std::string> leading;
  for (const auto& record : all.records) {
    if (!is_plain(record.rule, study) && study::leads(record, all.records, study.plain))
      leading.push_back(record.rule);
  }
  if (!std::ranges::any_of(all.records, is_told)) {
    text += fmt::format(
        "\n**Whether a rule leads the plain ones cannot be told.** {} of {} trainings have a spike "
        "of "
        "the loss, and an interval takes five. All are shipped as descriptions.\n",
        all.with_spikes,
        all.trainings);
  } else {
    text += leading.empty()
                ? "\n**No rule leads the plain ones.** All are shipped as descriptions.\n"
                : fmt::format("\n**Ahead of the plain rules on all trainings together: {}.**\n",
                              fmt::join(leading, ", "));
  }
  text += "\nDoes κ lead, follow, or neither?\n\n";
  for (const auto& group : study.groups) {
    for (const auto& record : group.records) {
      if (record.rule.starts_with(store::info_of(store::AlarmId::kKappa).name))
        text += of_kappa(group, record);
    }
  }
  for (const auto& group : study.groups) text += table(group, study);
  return text;
}

}  // namespace kappascope::reports
