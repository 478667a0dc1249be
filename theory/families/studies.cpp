// SPDX-License-Identifier: Apache-2.0
// Statements of "Post-Gating Bias" and "Bias redundancy" about whole trainings: each is measured by
// studies, on their runs. The names of arms are those in experiments/.
#include "kappascope/store/schema/layer_probes.h"
#include "lab/study/metrics.h"
#include "theory/arms.h"
#include "theory/checks/studies/contrasts.h"
#include "theory/checks/studies/levels.h"
#include "theory/families/families.h"
#include "theory/margins.h"

namespace kappascope::theory {
namespace {

using enum Direction;

/// The first spike's step, or the length of spikes.
Contrast spikes(const std::string& metric, Direction expected) {
  Contrast contrast{metric, arm::kPgb, arm::kNoBias, expected};
  contrast.matters = margin::kSpikes;
  return contrast;
}

Verdict measure_adversarial(const StudyRuns& study) {
  const std::string attacked = store::id::kAccuracyDocumentAttack;
  const std::string clean = store::id::kAccuracyTest;
  DirectionQuestion question;
  question.claimed = {{attacked, arm::kPgb, arm::kNoBias, kHigher}};
  question.matters = margin::kAccuracy;
  if (study.name == "pgb-mlp-mnist") question.size = {0.02, 0.02};
  // "Much more pronounced" than that.
  if (study.name == "pgb-mlp-mnist-2x64") question.size = {0.02, 1};
  question.beside = {{attacked, arm::kOutputBias, arm::kNoBias, kHigher},
                     {attacked, arm::kPgb, arm::kOutputBias, kHigher},
                     {clean, arm::kPgb, arm::kNoBias, kHigher}};
  return check_direction(study, question);
}

/// Of the bias that the document is about.
Verdict measure_no_effect_in_language(const StudyRuns& study) {
  const std::string loss = store::id::kLossTest;
  return check_no_effect(
      study,
      {.claimed = {{loss, arm::kPgb, arm::kNoBias}},
       .margin = margin::kLoss,
       .seen_refutes = true,
       .beside = {{loss, arm::kOutputBias, arm::kNoBias}, {loss, arm::kPgb, arm::kOutputBias}}});
}

/// Of the norms' bias, alone and beside the other.
Verdict measure_no_effect_of_norms(const StudyRuns& study) {
  const std::string loss = store::id::kLossTest;
  return check_no_effect(
      study,
      {.claimed = {{loss, arm::kNormBias, arm::kNoBias}, {loss, arm::kBoth, arm::kPgb}},
       .margin = margin::kLoss,
       .seen_refutes = true,
       .beside = {{loss, arm::kBoth, arm::kNoBias}}});
}

Verdict measure_useless_biases(const StudyRuns& study) {
  const std::string loss = store::id::kLossTest;
  // 0.02 nats are 2 % of perplexity, whatever the loss itself is.
  NoEffectQuestion question{.claimed = {}, .margin = {.absolute = 0.02}};
  for (const auto* arm : {"Q bias", "K bias", "V bias", "second bias"})
    question.claimed.push_back({loss, arm, arm::kNoBias, kLower, "norm-order post"});
  question.beside = {{loss, "O bias", arm::kNoBias, kLower, "norm-order post"}};
  return check_no_effect(study, question);
}

}  // namespace

std::vector<Claim> study_claims() {
  return {
      {.id = "P-X1",
       .source = "Post-gating bias, section 4",
       .statement = "In a ViT-VAE loss spikes come later and are shorter with PGB, and the loss "
                    "ends slightly better.",
       .assumptions = "as in the study, at a rate at which the control has at least three spikes",
       .derivation = "The step at which the first spike begins, the mean length of the spikes, and "
                     "the test loss at the end, paired by seed.",
       .studies = {"pgb-vitvae"},
       .measure =
           [](const StudyRuns& study) {
             return check_direction(
                 study,
                 {.claimed = {spikes(study::metric::kSpikesLength, kLower),
                              spikes(study::metric::kSpikesFirst, kHigher),
                              {store::id::kLossTest, arm::kPgb, arm::kNoBias, kLower}},
                  .matters = margin::kLoss,
                  .beside = {{study::metric::kSpikesSteps, arm::kPgb, arm::kNoBias, kLower},
                             {study::metric::kSpikesLength, arm::kOutputBias, arm::kNoBias, kLower},
                             {store::id::kLossTest, arm::kOutputBias, arm::kNoBias, kLower}}});
           }},
      {.id = "P-X2",
       .source = "Post-gating bias, section 4",
       .statement = "PGB makes no significant difference to the test loss of Phi-3-like and "
                    "Gemma-3-like language models.",
       .assumptions = "as in the study",
       .derivation = "Test loss with and without, paired by seed. Refuted by a difference that is "
                     "seen, unless it is shown to be below 1 % of the loss; no effect means an "
                     "interval within 1 %, not one around zero.",
       .studies = {"pgb-phi3", "pgb-gemma3"},
       .measure = measure_no_effect_in_language},
      {.id = "P-X2n",
       .source = "Post-gating bias, section 4",
       .statement = "A trainable shift in the norms, alone or beside PGB, makes no significant "
                    "difference to the test loss of Phi-3-like and Gemma-3-like language models.",
       .assumptions = "as in the study",
       .derivation = "As P-X2: the norms' bias against none, and both against PGB.",
       .studies = {"pgb-phi3", "pgb-gemma3"},
       .measure = measure_no_effect_of_norms},
      {.id = "P-X3",
       .source = "Post-gating bias, section 4",
       .statement = "PGB raises the adversarial accuracy of gated MLPs: from about 14 % to 16 % on "
                    "MNIST with 3 blocks of 256, more with 2 of 64, and on CIFAR-10.",
       .assumptions = "as in the study, on the readings of the document's set-up whose control is "
                      "where the document's is",
       .derivation = "Accuracy under the document's attack (random start, ten steps) at the end, "
                     "paired by seed; beside it a plain output bias and clean accuracy. Ball, "
                     "clipping and units of the attack, inputs, residual paths and embedding are "
                     "not in the document: each reading is a condition of the study, and one "
                     "whose control is elsewhere decides nothing.",
       .studies = {"pgb-mlp-cifar", "pgb-mlp-mnist", "pgb-mlp-mnist-2x64"},
       .measure = measure_adversarial},
      {.id = "P-PLAIN",
       .source = "ours, beside P-X3",
       .statement = "A stack of gated layers without residual paths, embedding or any bias learns "
                    "later than one with a post-gating or an output bias in every layer, or not at "
                    "all.",
       .assumptions = "as in the study: raw pixels, the default start of the framework",
       .derivation = "L layers are of order 2^L in a small input, with their gradients (P-FLAT): "
                     "where the first layers' outputs are small a stack is the constant zero and "
                     "its gradient too. Either bias gives the next layer an input of order one. "
                     "Measured as accuracy on clean images, paired by seed, at each depth.",
       .studies = {"pgb-mlp-plain"},
       .measure =
           [](const StudyRuns& study) {
             const std::string clean = store::id::kAccuracyTest;
             return check_direction(study,
                                    {.claimed = {{clean, arm::kPgb, arm::kNoBias, kHigher},
                                                 {clean, arm::kOutputBias, arm::kNoBias, kHigher}},
                                     .matters = margin::kAccuracy,
                                     .beside = {{clean, arm::kPgb, arm::kOutputBias, kHigher}}});
           }},
      {.id = "P-CANCEL",
       .source = "Post-gating bias, 3.3, interpretation of Lemma 2",
       .statement = "A trained post-gating bias cancels the mean of the features: at the end less "
                    "than half of it is left.",
       .assumptions = "as in the study; b begins at zero",
       .derivation = "‖μ + b‖/‖μ‖ at the end, median over the layers, its mean over the seeds "
                     "against one half. P-PATH says when descent on b goes there.",
       .studies = {"centring"},
       .measure =
           [](const StudyRuns& study) {
             return check_level(study,
                                {store::id::kBiasResidual,
                                 arm::kPgb,
                                 0.5,
                                 kLower,
                                 {arm::kPgbFromMean, arm::kCentred}});
           }},
      {.id = "P-STAY",
       .source = "ours, beside P-CANCEL",
       .statement = "A post-gating bias that begins at minus the mean of the features stays there: "
                    "at the end less than half of the mean is left.",
       .assumptions = "as in the study; the mean is that of the first batch",
       .derivation = "As P-CANCEL.",
       .studies = {"centring"},
       .measure =
           [](const StudyRuns& study) {
             return check_level(study,
                                {store::id::kBiasResidual,
                                 arm::kPgbFromMean,
                                 0.5,
                                 kLower,
                                 {arm::kPgb, arm::kCentred}});
           }},
      {.id = "P-NOISE",
       .source = "Post-gating bias, 3.3 and section 5",
       .statement = "A trained post-gating bias lowers the variance of the gradients of W_d.",
       .assumptions = "as in the study; of one image's gradient, each arm at its own weights",
       .derivation =
           "The measured variance, the sum over W_d's entries, median over the layers and "
           "over training, paired by seed; an output bias and centring beside it.",
       .studies = {"centring"},
       .measure =
           [](const StudyRuns& study) {
             const auto noise = store::median_over_steps(store::id::kVarianceMeasured);
             return check_direction(
                 study,
                 {.claimed = {{noise, arm::kPgb, arm::kNoBias, kLower}},
                  .matters = margin::kStatistic,
                  .beside = {{noise, arm::kOutputBias, arm::kNoBias, kLower},
                             {noise, arm::kPgb, arm::kOutputBias, kLower},
                             {noise, arm::kCentredOutputBias, arm::kOutputBias, kLower}}});
           }},
      {.id = "P-CENTRE",
       .source = "ours, beside Proposition 1: what to do instead",
       .statement = "Explicit centring, b = -(running mean of φ) with an output bias, ends at a "
                    "lower loss than the output bias alone.",
       .assumptions = "as in the study; centred features alone make no constant",
       .derivation = "Test loss at the end, paired by seed; beside it the other arms.",
       .studies = {"centring"},
       .measure =
           [](const StudyRuns& study) {
             const std::string loss = store::id::kLossTest;
             return check_direction(
                 study,
                 {.claimed = {{loss, arm::kCentredOutputBias, arm::kOutputBias, kLower}},
                  .matters = margin::kLoss,
                  .beside = {{loss, arm::kPgb, arm::kNoBias, kLower},
                             {loss, arm::kPgbFromMean, arm::kNoBias, kLower},
                             {loss, arm::kOutputBias, arm::kNoBias, kLower},
                             {loss, arm::kPgb, arm::kOutputBias, kLower},
                             {loss, arm::kCentred, arm::kNoBias, kLower}}});
           }},
      {.id = "P-X4",
       .source = "Post-gating bias, abstract",
       .statement = "A controlled study over dropout, latent noise and seeds shows the effect of "
                    "PGB: a lower loss, or the lower the more dropout or noise there is.",
       .assumptions = "as in the study",
       .derivation = "One number a seed: its difference of the test loss, the mean over the grid; "
                     "and the slopes of the difference on dropout and on noise. Refuted when none "
                     "is seen and the pooled difference lies within 1 % of the loss; an output "
                     "bias beside it.",
       .studies = {"pgb-controlled"},
       .measure =
           [](const StudyRuns& study) {
             return check_pooled(
                 study,
                 {.contrast = {store::id::kLossTest, arm::kPgb, arm::kNoBias, kLower},
                  .settings = {"dropout", "latent-noise"},
                  .margin = margin::kLoss,
                  .beside = {{store::id::kLossTest, arm::kOutputBias, arm::kNoBias},
                             {store::id::kLossTest, arm::kPgb, arm::kOutputBias}}});
           }},
      {.id = "P-X5",
       .source = "Post-gating bias, section 5 and future work",
       .statement = "PGB takes a rank-1 term out of the Hessian: through training its largest "
                    "eigenvalue is lower with it.",
       .assumptions = "as in the study",
       .derivation = "The largest eigenvalue, its median over training, at several learning rates, "
                     "paired by seed; an output bias beside it.",
       .studies = {"hessian-evolution", "hessian-vitvae"},
       .measure =
           [](const StudyRuns& study) {
             const auto largest = store::median_over_steps(store::id::kHessianLambda.at(1));
             return check_direction(
                 study,
                 {.claimed = {{largest, arm::kPgb, arm::kNoBias, kLower}},
                  .matters = margin::kStatistic,
                  .beside = {{largest, arm::kOutputBias, arm::kNoBias, kLower}}});
           }},
      {.id = "Z-POST",
       .source = "Bias redundancy, post-norm",
       .statement = "With post-normalisation the Q, K, V biases and the second feed-forward bias "
                    "are usually useless.",
       .assumptions = "as in the study: LayerNorm with its shift, on which the document's argument "
                      "rests; with rotary positions and without",
       .derivation = "Test loss with and without each bias, paired by seed; useless means "
                     "intervals within 0.02 nats, which is 2 % of perplexity.",
       .studies = {"bias-redundancy"},
       .measure = measure_useless_biases},
  };
}

}  // namespace kappascope::theory
