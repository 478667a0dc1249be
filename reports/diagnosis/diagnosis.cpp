// SPDX-License-Identifier: Apache-2.0
#include "reports/diagnosis/diagnosis.h"

#include <array>

#include "reports/diagnosis/questions.h"

namespace kappascope::reports {
namespace {

// In the order of each enum; one name too few or too many does not compile.
constexpr std::array<std::string_view, 13> kQuestions = {"worst_layer",
                                                         "learning_rate",
                                                         "bias",
                                                         "batch_size",
                                                         "precision",
                                                         "feature_scale",
                                                         "dead_units",
                                                         "massive_activations",
                                                         "alignment",
                                                         "eight_bit",
                                                         "trust",
                                                         "cost",
                                                         "next_step"};
constexpr std::array<std::string_view, 4> kGrades = {"good", "cannot tell", "watch", "bad"};
constexpr std::array<std::string_view, 31> kVerdicts = {
    "not_measured", "too_early",  "undecided",     "fine",       "limits",        "diverged",
    "rose",         "at_limit",   "spikes",        "helps",      "helps_in_part", "mixed",
    "harms",        "not_taken",  "worth_a_trial", "usual",      "mean_helps",    "nothing_to_gain",
    "negligible",   "too_small",  "too_large",     "non_finite", "out_of_range",  "uneven",
    "dead",         "dead_layer", "outliers",      "aligned",    "lossy",         "unresolved",
    "costly"};
constexpr std::array<std::string_view, 9> kActions = {
    "precision", "rate", "warm-up", "batch", "batch", "norm", "bias", "dead units", "rate"};

template <std::size_t kCount, typename Enum>
constexpr bool names_all(const std::array<std::string_view, kCount>& names, Enum last) {
  return static_cast<std::size_t>(last) + 1 == kCount && !names.back().empty();
}
static_assert(names_all(kQuestions, Question::kNextStep));
static_assert(names_all(kGrades, Grade::kBad));
static_assert(names_all(kVerdicts, Verdict::kCostly));
static_assert(names_all(kActions, Action::kCheckBatch));

}  // namespace

std::string_view to_string(Question question) {
  return kQuestions.at(static_cast<std::size_t>(question));
}

std::string_view to_string(Grade grade) {
  return kGrades.at(static_cast<std::size_t>(grade));
}

std::string_view to_string(Verdict verdict) {
  return kVerdicts.at(static_cast<std::size_t>(verdict));
}

std::string_view to_string(Action action) {
  return kActions.at(static_cast<std::size_t>(action));
}

double steps_of(const Arm& arm) {
  return static_cast<double>(arm.last_step + 1);
}

bool is_of_the_start(const Arm& arm, std::int64_t step) {
  return step < arm.last_step / 10;
}

std::vector<const Diagnosis*> Diagnoses::next_steps() const {
  std::vector<const Diagnosis*> steps = {
      &precision, &rate, &dead_units, &batch, &feature_scale, &bias};
  std::erase_if(steps, [](const Diagnosis* answer) { return !answer->action; });
  return steps;
}

std::vector<Diagnosis> Diagnoses::all() const {
  std::vector<Diagnosis> out = {worst_layer,
                                rate,
                                bias,
                                batch,
                                precision,
                                feature_scale,
                                dead_units,
                                massive,
                                alignment,
                                eight_bit,
                                trust,
                                cost};
  const auto steps = next_steps();
  // A layer that is slow to learn asks for no action: what would mend it is not known.
  const bool slow = worst_layer.grade == Grade::kBad;
  out.push_back(!steps.empty() ? *steps.front()
                : slow         ? Diagnosis{.verdict = Verdict::kUndecided, .grade = Grade::kOpen}
                               : Diagnosis{.verdict = Verdict::kFine, .grade = Grade::kGood});
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
          .massive = diagnose_massive(arm),
          .alignment = diagnose_alignment(arm),
          .eight_bit = diagnose_eight_bit(arm),
          .trust = diagnose_trust({&arm, 1}),
          .cost = diagnose_cost(arm)};
}

}  // namespace kappascope::reports
