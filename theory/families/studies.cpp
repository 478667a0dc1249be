// SPDX-License-Identifier: Apache-2.0
// Statements about whole trainings: each is measured by studies, on their runs. The names of arms
// are those in experiments/.
#include "theory/checks/studies/contrasts.h"
#include "theory/checks/studies/ratios.h"
#include "theory/families/families.h"

namespace kappascope::theory {
namespace {

/// Of a loss: less than that is taken for no effect.
constexpr double kMargin = 0.01;

using enum Direction;

Verdict measure_adversarial(const StudyRuns& study) {
  const std::string attacked = store::id::kAccuracyDocumentAttack;
  // Without residual paths a stack without biases may never leave a constant answer, which no
  // attack can make worse: such runs stand beside the claim, with their clean accuracy.
  const std::string residual = "residual true", plain = "residual false";
  DirectionQuestion question;
  question.claimed = {{attacked, "PGB", "no bias", kHigher, residual}};
  if (study.name == "pgb-mlp-mnist") question.size = {0.02, 0.02};
  for (const auto other :
       {store::id::kAccuracyFgsm, store::id::kAccuracyPgd, store::id::kAccuracyTest})
    question.beside.push_back({other, "PGB", "no bias", kHigher, residual});
  question.beside.push_back({attacked, "output bias", "no bias", kHigher, residual});
  question.beside.push_back({attacked, "PGB", "output bias", kHigher, residual});
  for (const auto& other : {attacked, std::string(store::id::kAccuracyTest)})
    question.beside.push_back({other, "PGB", "no bias", kHigher, plain});
  return check_direction(study, question);
}

Verdict measure_asger_loss(const StudyRuns& study) {
  if (study.name == "asger") {
    return check_direction(study,
                           {{{store::id::kLossTest, "ASGER", "SwiGLU", kHigher}}, {{0.15, 0.15}}});
  }
  return check_direction(study,
                         {{{store::id::kLossTest, "alpha 0.5", "alpha 0.25", kLower},
                           {store::id::kLossTest, "alpha 0.5", "alpha 1", kLower},
                           {store::id::kLossTest, "alpha 0.5", "no spatial part", kLower}}});
}

std::vector<Claim> bias_claims() {
  return {
      {.id = "P-X1",
       .source = "Post-gating bias, section 4",
       .statement = "PGB shortens loss spikes of a ViT-VAE and gives a slightly better loss.",
       .assumptions = "as in the study",
       .derivation = "Steps of training spent in spikes, and the test loss at the end, with and "
                     "without the bias, paired by seed.",
       .studies = {"pgb-vitvae"},
       .measure =
           [](const StudyRuns& study) {
             return check_direction(
                 study,
                 {.claimed = {{"spikes/steps", "PGB", "no bias", kLower},
                              {store::id::kLossTest, "PGB", "no bias", kLower}},
                  .beside = {{"spikes/length", "PGB", "no bias", kLower},
                             {store::id::kLossTest, "PGB", "output bias", kLower}}});
           }},
      {.id = "P-X2",
       .source = "Post-gating bias, section 4",
       .statement = "PGB has no effect in Phi-3-like and Gemma-3-like language models, whatever "
                    "other biases stand beside it.",
       .assumptions = "as in the study",
       .derivation = "Test loss of the four bias configurations, paired by seed; no effect means "
                     "intervals within 1 % of the loss, not intervals around zero.",
       .studies = {"pgb-phi3", "pgb-gemma3"},
       .measure =
           [](const StudyRuns& study) {
             return check_no_effect(study,
                                    {{store::id::kLossTest, "PGB", "no bias"},
                                     {store::id::kLossTest, "both", "norm bias"}},
                                    kMargin);
           }},
      {.id = "P-X3",
       .source = "Post-gating bias, section 4",
       .statement = "PGB raises the adversarial accuracy of gated MLPs: from about 14 % to 16 % on "
                    "MNIST with 3 blocks of 256, more with 2 of 64, and on CIFAR-10.",
       .assumptions = "as in the study",
       .derivation = "Accuracy under the document's attack (random start, ten steps) at the end, "
                     "paired by seed, of blocks with residual paths; beside it the one-step attack "
                     "of that name, projected gradient descent, clean accuracy, a plain output "
                     "bias, and blocks without residual paths.",
       .studies = {"pgb-mlp-cifar", "pgb-mlp-mnist", "pgb-mlp-mnist-2x64"},
       .measure = measure_adversarial},
      {.id = "P-X4",
       .source = "Post-gating bias, abstract",
       .statement =
           "A controlled study over dropout, latent noise and seeds shows the effect of PGB.",
       .assumptions = "as in the study",
       .derivation = "Differences of the test loss over the grid, paired by seed, corrected for "
                     "the number of comparisons; refuted when all lie within 1 % of the loss.",
       .studies = {"pgb-controlled"},
       .measure =
           [](const StudyRuns& study) {
             return check_some_effect(study, {{store::id::kLossTest, "PGB", "no bias"}}, kMargin);
           }},
      {.id = "P-X5",
       .source = "Post-gating bias, future work",
       .statement = "The eigenvalues of the Hessian evolve differently with PGB.",
       .assumptions = "as in the study",
       .derivation = "The largest eigenvalue, its median over training, at several learning rates; "
                     "refuted when all differences lie within 1 %.",
       .studies = {"hessian-evolution"},
       .measure =
           [](const StudyRuns& study) {
             return check_some_effect(
                 study,
                 {{store::median_over_steps(store::id::kHessianLambda.at(1)), "PGB", "no bias"}},
                 kMargin);
           }},
      {.id = "Z-POST",
       .source = "Bias redundancy, post-norm",
       .statement = "With post-normalisation the Q, K, V biases and the second feed-forward bias "
                    "are usually useless.",
       .assumptions = "as in the study",
       .derivation = "Test loss with and without each bias, paired by seed; useless means "
                     "intervals within 1 % of the loss.",
       .studies = {"bias-redundancy"},
       .measure =
           [](const StudyRuns& study) {
             std::vector<Contrast> useless;
             for (const auto* arm : {"Q bias", "K bias", "V bias", "second bias"})
               useless.push_back({store::id::kLossTest, arm, "no bias", kLower, "norm-order post"});
             return check_no_effect(study, useless, kMargin);
           }},
  };
}

std::vector<Claim> layer_claims() {
  return {
      {.id = "A-MEM",
       .source = "ASGER, efficiency",
       .statement = "ASGER raises peak memory from 31.49 to 40.27 GB, which is 1.28 times.",
       .assumptions = "as in the study; main memory beyond what was held before the first step",
       .derivation = "The ratio of peak memory of training, paired by seed.",
       .studies = {"asger"},
       .measure =
           [](const StudyRuns& study) {
             return check_ratio(
                 study, {store::id::kMemoryTraining, "ASGER", "SwiGLU"}, 40.27 / 31.49);
           }},
      {.id = "A-LOSS",
       .source = "ASGER, results",
       .statement = "ASGER ends at loss 5.08 against SwiGLU's 4.93; α = 0.5 is the best; the "
                    "spatial part gives 0.02.",
       .assumptions = "as in the studies",
       .derivation = "Test loss at the end, paired by seed, with the interval of each difference.",
       .studies = {"asger", "asger-ablation"},
       .measure = measure_asger_loss},
      {.id = "I-ISO",
       .source = "Isotropy GMLP, method",
       .statement = "The isotropy branch keeps the features that enter the down-projection "
                    "isotropic through training.",
       .assumptions = "as in the study",
       .derivation = "Mean cosine, isotropy ((tr Σ)²/(d tr Σ²), of which IsoScore is "
                     "(d·isotropy - 1)/(d - 1)) and effective rank through training, with the "
                     "branch and without.",
       .studies = {"isogmlp"},
       .measure =
           [](const StudyRuns& study) {
             return check_direction(
                 study,
                 {.claimed = {{store::median_over_steps(store::id::kIsotropy),
                               "IsoGMLP",
                               "GEGLU",
                               kHigher},
                              {store::median_over_steps(store::id::kEffectiveRank),
                               "IsoGMLP",
                               "GEGLU",
                               kHigher},
                              {store::median_over_steps(store::id::kMeanCosine),
                               "IsoGMLP",
                               "GEGLU",
                               kLower}},
                  .beside = {{store::id::kLossTest, "IsoGMLP", "GEGLU", kLower}}});
           }},
      {.id = "I-INIT",
       .source = "Isotropy GMLP, ablation",
       .statement = "Orthogonal initialisation of the branch reduces gradient explosions.",
       .assumptions = "as in the study",
       .derivation = "Share of steps whose gradient norm is over three times the median of the "
                     "fifty before, paired by seed.",
       .studies = {"isogmlp-ablation"},
       .measure =
           [](const StudyRuns& study) {
             return check_direction(study,
                                    {{{"explosions/share", "all", "no orthogonal start", kLower}}});
           }},
      {.id = "I-DIM",
       .source = "Isotropy GMLP, ablation",
       .statement = "An isotropy dimension of about an eighth of the hidden dimension is best.",
       .assumptions = "as in the study",
       .derivation = "Test loss over the dimension, paired by seed.",
       .studies = {"isogmlp-ablation"},
       .measure =
           [](const StudyRuns& study) {
             DirectionQuestion question;
             for (const auto* width : {"width 1+16", "width 1+4", "width 1+2"})
               question.claimed.push_back({store::id::kLossTest, "all", width, kLower});
             return check_direction(study, question);
           }},
  };
}

}  // namespace

std::vector<Claim> study_claims() {
  auto claims = bias_claims();
  for (auto& claim : layer_claims()) claims.push_back(std::move(claim));
  return claims;
}

}  // namespace kappascope::theory
