// SPDX-License-Identifier: Apache-2.0
#include "reports/diagnosis/diagnosis.h"

#include "reports/diagnosis/questions.h"

namespace kappascope::reports {
namespace {

/// The word at that place of a list with blanks between.
template <typename Enum>
std::string_view name_of(std::string_view names, Enum value) {
  for (auto skip = static_cast<int>(value); skip > 0; --skip)
    names.remove_prefix(names.find(' ') + 1);
  return names.substr(0, names.find(' '));
}

}  // namespace

std::string_view to_string(Question question) {
  return name_of(
      "worst_layer learning_rate bias batch_size precision feature_scale dead_units trust cost "
      "next_step",
      question);
}

std::string_view to_string(Grade grade) {
  return grade == Grade::kOpen ? "cannot tell" : name_of("good - watch bad", grade);
}

std::string_view to_string(Verdict verdict) {
  return name_of(
      "not_measured too_early undecided fine limits diverged at_limit spikes helps helps_in_part "
      "mixed harms not_taken worth_a_trial mean_helps nothing_to_gain too_small too_large "
      "non_finite out_of_range uneven dead unresolved costly",
      verdict);
}

std::string_view to_string(Action action) {
  return name_of("precision rate warm-up batch batch norm bias", action);
}

double steps_of(const Arm& arm) {
  return static_cast<double>(arm.last_step + 1);
}

bool is_of_the_start(const Arm& arm, std::int64_t step) {
  return step < arm.last_step / 10;
}

std::vector<const Diagnosis*> Diagnoses::next_steps() const {
  std::vector<const Diagnosis*> steps = {&precision, &rate, &batch, &feature_scale, &bias};
  std::erase_if(steps, [](const Diagnosis* answer) { return !answer->action; });
  return steps;
}

std::vector<Diagnosis> Diagnoses::all() const {
  std::vector<Diagnosis> out = {
      worst_layer, rate, bias, batch, precision, feature_scale, dead_units, trust, cost};
  const auto steps = next_steps();
  out.push_back(steps.empty() ? Diagnosis{.verdict = Verdict::kFine, .grade = Grade::kGood}
                              : *steps.front());
  out.back().question = Question::kNextStep;
  return out;
}

Diagnoses diagnose(const Arm& arm) {
  return {.worst_layer = worst_layer_of(arm),
          .rate = diagnose_rate(arm),
          .bias = diagnose_bias({&arm, 1}),
          .batch = diagnose_batch(arm),
          .precision = diagnose_precision(arm),
          .feature_scale = diagnose_feature_scale(arm),
          .dead_units = diagnose_dead_units(arm),
          .trust = diagnose_trust({&arm, 1}),
          .cost = diagnose_cost(arm)};
}

}  // namespace kappascope::reports
