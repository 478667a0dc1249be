// SPDX-License-Identifier: Apache-2.0
// What "Post-Gating Bias" says of the features of real trainings, decided on stored runs and on
// those of studies.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "kappascope/store/schema/layer_probes.h"
#include "theory/arms.h"
#include "theory/checks/measured_run.h"
#include "theory/checks/studies/ratios.h"
#include "theory/families/families.h"

namespace kappascope::theory {
namespace {

namespace id = store::id;

constexpr const char* kSource = "Post-gating bias, Proposition 1";

/// The studies of gated MLPs on images: real features, at initialisation and in training.
std::vector<std::string> mlp_studies() {
  return {"pgb-mlp-cifar", "pgb-mlp-mnist", "pgb-mlp-mnist-2x64"};
}

Verdict order_of_kappas(const CheckContext& context) {
  return check_order(*context.run, id::kKappaSecondMoment, id::kKappaSigma);
}

/// Mean over the runs of the control of the share of pairs with `larger` >= `smaller`.
std::string shares_by_thirds(const StudyRuns& study,
                             const std::string& larger,
                             const std::string& smaller) {
  std::string text;
  for (std::size_t third = 0; third < 3; ++third) {
    const auto found =
        check_each_run(study, arm::kNoBias, EachRun::kShare, [&](const CheckContext& context) {
          return check_order(*context.run, larger, smaller, third);
        });
    text += third == 0 ? "" : ", ";
    text += found.outcome == Outcome::kMeasured ? fmt::format("{:.3g}", found.measured) : "-";
  }
  return text;
}

/// "In every layer at every step": both numbers are exact on their sample, so one pair in the other
/// order refutes.
Verdict order_in_every_run(const StudyRuns& study) {
  auto verdict = check_each_run(study, arm::kNoBias, EachRun::kShare, order_of_kappas);
  if (verdict.outcome == Outcome::kMeasured)
    verdict.condition += "; by thirds of training: " +
                         shares_by_thirds(study, id::kKappaSecondMoment, id::kKappaSigma);
  if (verdict.outcome == Outcome::kMeasured && !verdict.witness.empty()) {
    verdict.outcome = Outcome::kRefuted;
    verdict.condition += "; the pair that is farthest off: " + verdict.witness;
  }
  return verdict;
}

Verdict variance_along_mean(const CheckContext& context) {
  return check_order(*context.run, id::kVarianceAlongMean, id::kAverageVariance);
}

Verdict mean_dominates(const CheckContext& context) {
  return check_order(*context.run, id::kMeanSquared, id::kLargestVariance);
}

Verdict mean_dominates_in_study(const StudyRuns& study) {
  auto verdict = check_each_run(study, arm::kNoBias, EachRun::kShare, mean_dominates);
  if (verdict.outcome == Outcome::kMeasured)
    verdict.condition += "; by thirds of training: " +
                         shares_by_thirds(study, id::kMeanSquared, id::kLargestVariance);
  return verdict;
}

}  // namespace

std::vector<Claim> real_features_claims() {
  return {
      {.id = "P-P1g",
       .source = kSource,
       .statement = "On real features κ(Σ+μμᵀ) >= κ(Σ) in every layer at every step.",
       .assumptions = "both computed on one sample, as a run stores them",
       .derivation = "The share of stored (layer, step) pairs in which it is so, and by thirds of "
                     "training; a pair in which it is not refutes.",
       .needs_run = true,
       .studies = {"constant-regression", "pgb-mlp-cifar", "pgb-mlp-mnist", "pgb-mlp-mnist-2x64"},
       .check = order_of_kappas,
       .measure = order_in_every_run},
      {.id = "P-VAR",
       .source = "Post-gating bias, 3.2",
       .statement = "The features vary more along their mean than along other directions.",
       .assumptions = "μᵀΣμ/μᵀμ beside tr Σ/d, as a run stores them",
       .derivation = "The share of stored (layer, step) pairs in which the variance along the mean "
                     "is at least that along an average direction.",
       .needs_run = true,
       .studies = mlp_studies(),
       .check = variance_along_mean,
       .measure =
           [](const StudyRuns& study) {
             return check_each_run(study, arm::kNoBias, EachRun::kShare, variance_along_mean);
           }},
      {.id = "P-DOMr",
       .source = "Post-gating bias, variance control",
       .statement = "On the features of a training μμᵀ dominates the spectrum of Σ + μμᵀ.",
       .assumptions = "dominates: ‖μ‖² >= λmax(Σ), as a run stores them; random features are P-DOM",
       .derivation = "The share of stored (layer, step) pairs in which it is so, and by thirds of "
                     "training.",
       .needs_run = true,
       .studies = {"constant-regression", "pgb-phi3", "pgb-gemma3", "pgb-vitvae"},
       .check = mean_dominates,
       .measure = mean_dominates_in_study},
  };
}

}  // namespace kappascope::theory
