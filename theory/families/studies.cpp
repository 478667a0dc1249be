// SPDX-License-Identifier: Apache-2.0
// Statements about whole trainings: each is measured by studies, on their runs. The names of arms
// are those in experiments/.
#include "theory/checks/studies/contrasts.h"
#include "theory/checks/studies/ratios.h"
#include "theory/families/families.h"

namespace kappascope::theory {
namespace {

using enum Direction;

/// Of a loss: less than that is taken for no effect. In language models of about 2.2 nats it is
/// 0.022, or 2 % of perplexity.
constexpr Margin kMargin{.share = 0.01};

Verdict measure_adversarial(const StudyRuns& study) {
  const std::string attacked = store::id::kAccuracyDocumentAttack;
  const std::string clean = store::id::kAccuracyTest;
  DirectionQuestion question;
  question.claimed = {{attacked, "PGB", "no bias", kHigher}};
  if (study.name == "pgb-mlp-mnist") question.size = {0.02, 0.02};
  // "Much more pronounced" than that.
  if (study.name == "pgb-mlp-mnist-2x64") question.size = {0.02, 1};
  question.beside = {{attacked, "output bias", "no bias", kHigher},
                     {attacked, "PGB", "output bias", kHigher},
                     {clean, "PGB", "no bias", kHigher}};
  return check_direction(study, question);
}

Verdict measure_no_effect_in_language(const StudyRuns& study) {
  const std::string loss = store::id::kLossTest;
  NoEffectQuestion question{.claimed = {}, .margin = kMargin, .seen_refutes = true};
  const std::vector<std::string> arms = {"no bias", "PGB", "norm bias", "both"};
  for (std::size_t i = 0; i < arms.size(); ++i) {
    for (std::size_t j = i + 1; j < arms.size(); ++j)
      question.claimed.push_back({loss, arms[j], arms[i]});
  }
  question.beside = {{loss, "output bias", "no bias"}, {loss, "PGB", "output bias"}};
  return check_no_effect(study, question);
}

Verdict measure_useless_biases(const StudyRuns& study) {
  const std::string loss = store::id::kLossTest;
  // 0.02 nats are 2 % of perplexity, whatever the loss itself is.
  NoEffectQuestion question{.claimed = {}, .margin = {.absolute = 0.02}};
  for (const auto* arm : {"Q bias", "K bias", "V bias", "second bias"})
    question.claimed.push_back({loss, arm, "no bias", kLower, "norm-order post"});
  question.beside = {{loss, "O bias", "no bias", kLower, "norm-order post"}};
  return check_no_effect(study, question);
}

/// The width `best` against its half and its double.
Verdict measure_best_width(const StudyRuns& study,
                           const std::string& best,
                           const std::string& half,
                           const std::string& twice) {
  const std::string loss = store::id::kLossTest;
  return check_direction(study, {{{loss, best, half, kLower}, {loss, best, twice, kLower}}});
}

std::vector<Claim> bias_claims() {
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
                 {.claimed = {{"spikes/length", "PGB", "no bias", kLower},
                              {"spikes/first", "PGB", "no bias", kHigher},
                              {store::id::kLossTest, "PGB", "no bias", kLower}},
                  .beside = {{"spikes/steps", "PGB", "no bias", kLower},
                             {"spikes/length", "output bias", "no bias", kLower},
                             {store::id::kLossTest, "output bias", "no bias", kLower}}});
           }},
      {.id = "P-X2",
       .source = "Post-gating bias, section 4",
       .statement = "None of the four bias configurations makes a significant difference to the "
                    "test loss of Phi-3-like and Gemma-3-like language models.",
       .assumptions = "as in the study",
       .derivation = "Test loss of each configuration against each other, paired by seed. Refuted "
                     "by a difference that is seen, unless it is shown to be below 1 % of the "
                     "loss; no effect means intervals within 1 %, not intervals around zero.",
       .studies = {"pgb-phi3", "pgb-gemma3"},
       .measure = measure_no_effect_in_language},
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
                                    {.claimed = {{clean, "PGB", "no bias", kHigher},
                                                 {clean, "output bias", "no bias", kHigher}},
                                     .beside = {{clean, "PGB", "output bias", kHigher}}});
           }},
      {.id = "P-X4",
       .source = "Post-gating bias, abstract",
       .statement = "A controlled study over dropout, latent noise and seeds shows the effect of "
                    "PGB: a lower loss, or the lower the more dropout or noise there is.",
       .assumptions = "as in the study",
       .derivation = "One number a seed: its difference of the test loss, the mean over the grid; "
                     "and the slopes of the difference on dropout and on noise. Refuted when none "
                     "is seen and the pooled difference lies within 1 % of the loss.",
       .studies = {"pgb-controlled"},
       .measure =
           [](const StudyRuns& study) {
             return check_pooled(study,
                                 {.contrast = {store::id::kLossTest, "PGB", "no bias", kLower},
                                  .settings = {"dropout", "latent-noise"},
                                  .margin = kMargin});
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
             return check_direction(study,
                                    {.claimed = {{largest, "PGB", "no bias", kLower}},
                                     .beside = {{largest, "output bias", "no bias", kLower}}});
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

std::vector<Claim> asger_trainings() {
  return {
      {.id = "A-MEM",
       .source = "ASGER, efficiency",
       .statement = "ASGER raises peak memory from 31.49 to 40.27 GB, which is 1.28 times.",
       .assumptions = "as in the study; the layer of as many parameters as SwiGLU, as the document "
                      "has it; main memory beyond what was held before the first step",
       .derivation = "The ratio of peak memory of training, paired by seed; beside it the layer as "
                     "printed, with more parameters.",
       .studies = {"asger"},
       .measure =
           [](const StudyRuns& study) {
             return check_ratio(study,
                                {store::id::kMemoryTraining, "ASGER balanced", "SwiGLU"},
                                40.27 / 31.49,
                                {{store::id::kMemoryTraining, "ASGER", "SwiGLU"}});
           }},
      {.id = "A-LOSS",
       .source = "ASGER, results",
       .statement = "With as many parameters ASGER ends at loss 5.08 against SwiGLU's 4.93.",
       .assumptions = "as in the study; balanced, as the document says of its layer",
       .derivation = "Test loss at the end, paired by seed, with the interval of the difference; "
                     "beside it the layer as printed, with 2.2 times the parameters or more.",
       .studies = {"asger"},
       .measure =
           [](const StudyRuns& study) {
             const std::string loss = store::id::kLossTest;
             return check_direction(study,
                                    {.claimed = {{loss, "ASGER balanced", "SwiGLU", kHigher}},
                                     .size = {{0.15, 0.15}},
                                     .beside = {{loss, "ASGER", "SwiGLU", kHigher},
                                                {loss, "ASGER balanced", "output bias", kHigher}}});
           }},
      {.id = "A-GAIN",
       .source = "ASGER, 5.2",
       .statement = "The spatial part lowers the loss by 0.02.",
       .assumptions = "as in the study; as many parameters with it as without",
       .derivation = "Test loss at the end, paired by seed; beside it the layer as printed, which "
                     "the spatial part makes larger.",
       .studies = {"asger-ablation"},
       .measure =
           [](const StudyRuns& study) {
             const std::string loss = store::id::kLossTest;
             return check_direction(
                 study,
                 {.claimed = {{loss, "alpha 0.5", "no spatial part", kLower}},
                  .size = {{-0.02, -0.02}},
                  .beside = {{loss, "alpha 0.5 unbalanced", "no spatial part", kLower}}});
           }},
  };
}

std::vector<Claim> isotropy_trainings() {
  const std::string loss = store::id::kLossTest;
  return {
      {.id = "I-ISO",
       .source = "Isotropy GMLP, method",
       .statement = "The isotropy branch keeps the features that enter the down-projection "
                    "isotropic through training.",
       .assumptions = "as in the study: against the same layer without the branch, from the same "
                      "orthogonal start",
       .derivation = "Isotropy ((tr Σ)²/(d tr Σ²), of which IsoScore is (d·isotropy - 1)/(d - 1)) "
                     "and mean cosine, medians over training. Effective rank stands beside them: "
                     "the branch adds features, so that it has more of it to begin with.",
       .studies = {"isogmlp"},
       .measure =
           [](const StudyRuns& study) {
             const auto isotropy = store::median_over_steps(store::id::kIsotropy),
                        rank = store::median_over_steps(store::id::kEffectiveRank),
                        cosine = store::median_over_steps(store::id::kMeanCosine);
             return check_direction(study,
                                    {.claimed = {{isotropy, "IsoGMLP", "no branch", kHigher},
                                                 {cosine, "IsoGMLP", "no branch", kLower}},
                                     .beside = {{rank, "IsoGMLP", "no branch", kHigher},
                                                {isotropy, "no branch", "GEGLU", kHigher},
                                                {isotropy, "scaled start", "IsoGMLP", kLower}}});
           }},
      {.id = "I-VARw",
       .source = "Isotropy GMLP, 5.2",
       .statement = "The branch reduces the variance of the loss within a run.",
       .assumptions = "as in the study; the other reading of I-VAR",
       .derivation = "Half the mean squared difference of one training loss to the next, over the "
                     "second half of training (a trend does not enter), paired by seed.",
       .studies = {"isogmlp"},
       .measure =
           [](const StudyRuns& study) {
             return check_direction(study,
                                    {{{"loss/train@variance", "IsoGMLP", "no branch", kLower}}});
           }},
      {.id = "I-INIT",
       .source = "Isotropy GMLP, ablation",
       .statement = "Orthogonal initialisation of the branch reduces gradient explosions.",
       .assumptions = "as in the study, at the rates at which there are explosions to prevent",
       .derivation = "Share of steps whose gradient norm is over three times the median of the "
                     "fifty before, paired by seed. Beside it a normal start of the same scale: an "
                     "orthogonal one is larger, too.",
       .studies = {"isogmlp-init"},
       .measure =
           [](const StudyRuns& study) {
             return check_direction(
                 study,
                 {.claimed = {{"explosions/share", "orthogonal", "normal", kLower}},
                  .beside = {{"explosions/share", "normal, same scale", "normal", kLower},
                             {store::id::kLossTest, "orthogonal", "normal", kLower}}});
           }},
      {.id = "I-DIM",
       .source = "Isotropy GMLP, 6.3",
       .statement = "An isotropy dimension of an eighth of the hidden dimension is best, the "
                    "hidden dimension being the model's width, as the document calls 768 (4.1).",
       .assumptions = "as in the study",
       .derivation = "Test loss of that width against half and double of it, paired by seed.",
       .studies = {"isogmlp-ablation"},
       .measure =
           [](const StudyRuns& study) {
             return measure_best_width(
                 study, "eighth of width", "sixteenth of width", "quarter of width");
           }},
      {.id = "I-DIMf",
       .source = "Isotropy GMLP, 6.3",
       .statement = "An isotropy dimension of an eighth of the feed-forward dimension is best.",
       .assumptions = "as in the study; the other reading of I-DIM",
       .derivation = "Test loss of that width against half and double of it, paired by seed.",
       .studies = {"isogmlp-ablation"},
       .measure =
           [](const StudyRuns& study) {
             return measure_best_width(study, "all", "sixteenth of hidden", "quarter of hidden");
           }},
      {.id = "I-ROWS",
       .source = "Isotropy GMLP, Table 1",
       .statement = "The branch, then orthogonal initialisation, then LayerNorm each lower the "
                    "loss.",
       .assumptions = "as in the study: cumulative arms, each one change more than the last",
       .derivation = "Test loss of each row of the table against the row before, paired by seed.",
       .studies = {"isogmlp-ablation"},
       .measure =
           [loss](const StudyRuns& study) {
             return check_direction(study,
                                    {{{loss, "branch", "base GLU", kLower},
                                      {loss, "orthogonal", "branch", kLower},
                                      {loss, "all", "orthogonal", kLower}}});
           }},
  };
}

}  // namespace

std::vector<Claim> study_claims() {
  auto claims = bias_claims();
  for (auto& claim : asger_trainings()) claims.push_back(std::move(claim));
  for (auto& claim : isotropy_trainings()) claims.push_back(std::move(claim));
  return claims;
}

}  // namespace kappascope::theory
