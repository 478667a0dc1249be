// SPDX-License-Identifier: Apache-2.0
// How much of what the other answers rest on is resolved?
#include <algorithm>

#include "reports/diagnosis/questions.h"

namespace kappascope::reports {
namespace {

/// Those of the table of estimates: a shrinkage estimate stands beside its own there.
bool is_kappa(const std::string& name) {
  return name == id::kKappaSigma || name == id::kKappaSecondMoment || name == id::kKappaWithBias;
}

bool is_steps(const std::string& name) {
  return id::kLearning.contains(name) && name != id::kLearningMeanCosts &&
         name != id::kLearningBiasLeaves && name != id::kLearningBiasChanges;
}

}  // namespace

TrustDiagnosis diagnose_trust(std::span<const Arm> arms) {
  constexpr double kHalf = 0.5, kNearlyAll = 0.9;
  TrustDiagnosis out;
  out.question = Question::kTrust;
  out.threshold = kNearlyAll;
  out.by_steps = std::ranges::any_of(arms, [](const Arm& arm) { return arm.has(id::kLearning); });
  for (const Arm& arm : arms) {
    out.damaged += arm.damaged.size();
    for (const auto& [key, points] : arm.scalars) {
      if (out.by_steps ? !is_steps(key.name) : !is_kappa(key.name)) continue;
      // A learning time that is not known has no number, and counts all the same.
      const auto point =
          out.by_steps ? arm.newest(key.name, key.layer) : arm.last(key.name, key.layer);
      if (!point) continue;
      ++out.all;
      // That a matrix is singular is known: no more rows would change it.
      const bool known =
          is_resolved(point->scalar) || point->scalar.status == store::Status::kDegenerate;
      out.resolved += known ? 1U : 0U;
    }
  }
  if (out.all == 0) return out;
  out.value = static_cast<double>(out.resolved) / static_cast<double>(out.all);
  const bool good = *out.value >= kNearlyAll && out.damaged == 0;
  out.verdict = good ? Verdict::kFine : Verdict::kUnresolved;
  out.grade = *out.value < kHalf ? Grade::kOpen : good ? Grade::kGood : Grade::kWatch;
  return out;
}

}  // namespace kappascope::reports
