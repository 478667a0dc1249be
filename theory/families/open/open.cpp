// SPDX-License-Identifier: Apache-2.0
// Statements about trainings that the studies measure beside their main claims, and statements that
// nothing here decides: each says what would.
#include <utility>

#include "kappascope/store/schema/layer_probes.h"
#include "kappascope/store/schema/series.h"
#include "lab/study/metrics.h"
#include "theory/arms.h"
#include "theory/checks/studies/contrasts.h"
#include "theory/checks/studies/interaction.h"
#include "theory/families/families.h"
#include "theory/margins.h"

namespace kappascope::theory {
namespace {

using enum Direction;

constexpr const char* kAsStudied = "as in the study";
constexpr const char* kTrainings = "a statement about trainings, paired by seed";

/// In every condition of a study the arm has more, or less, of a quantity than its control.
Claim measured(std::string id,
               std::string source,
               std::string statement,
               std::string derivation,
               std::vector<std::string> studies,
               DirectionQuestion question) {
  return {.id = std::move(id),
          .source = std::move(source),
          .statement = std::move(statement),
          .assumptions = kAsStudied,
          .derivation = std::move(derivation),
          .studies = std::move(studies),
          .measure = [question = std::move(question)](const StudyRuns& study) {
            return check_direction(study, question);
          }};
}

Claim open(std::string id, std::string source, std::string statement, std::string what) {
  return {.id = std::move(id),
          .source = std::move(source),
          .statement = std::move(statement),
          .assumptions = kTrainings,
          .derivation = "No run and no study here decides it.",
          .open = std::move(what)};
}

std::vector<Claim> measured_claims() {
  const std::string attacked(store::id::kAccuracyDocumentAttack.name());
  const std::string loss(store::id::kLossTest.name());
  const std::string weights(store::id::kWeightKappa.name());
  return {
      measured(
          "P-X3t",
          "Post-gating bias, 4.3 and figure 4",
          "PGB keeps a clear advantage in adversarial accuracy throughout training.",
          "Accuracy under the document's attack, its median over training, paired by seed.",
          {"pgb-mlp-cifar", "pgb-mlp-mnist", "pgb-mlp-mnist-2x64"},
          {.claimed = {{store::median_over_steps(attacked), arm::kPgb, arm::kNoBias, kHigher}},
           .matters = margin::kAccuracy,
           .beside =
               {{store::median_over_steps(attacked), arm::kOutputBias, arm::kNoBias, kHigher}}}),
      measured("P-C100",
               "Post-gating bias, section 4",
               "PGB raises the adversarial accuracy of gated MLPs on CIFAR-100 too, for which the "
               "document announces a test and shows no result.",
               "Accuracy under the document's attack at the end, paired by seed.",
               {"pgb-mlp-cifar100"},
               {.claimed = {{attacked, arm::kPgb, arm::kNoBias, kHigher}},
                .matters = margin::kAccuracy,
                .beside = {{attacked, arm::kOutputBias, arm::kNoBias, kHigher}}}),
      measured("P-LR",
               "Post-gating bias, abstract",
               "PGB makes training stable at higher learning rates: fewer steps lie in spikes.",
               "Share of steps in loss spikes of the ViT-VAE, at a rate at which the control has "
               "at least three, paired by seed; an output bias and the loss beside it.",
               {"pgb-vitvae"},
               {.claimed = {{study::metric::kSpikesShare, arm::kPgb, arm::kNoBias, kLower}},
                .matters = {.absolute = 0.01},
                .beside = {{study::metric::kSpikesShare, arm::kOutputBias, arm::kNoBias, kLower},
                           {study::metric::kExplosionsShare, arm::kPgb, arm::kNoBias, kLower}}}),
      measured("P-KWm",
               "Post-gating bias, 3.2",
               "Without PGB training ends with a worse conditioned W_d.",
               "Largest over smallest singular value of W_d, the median over layers, at the end of "
               "training: the factor, paired by seed; an output bias beside it.",
               {"constant-regression", "pgb-vitvae"},
               {.claimed = {ratio_of(weights, arm::kPgb, arm::kNoBias)},
                .matters = margin::kStatistic,
                .beside = {ratio_of(weights, arm::kOutputBias, arm::kNoBias),
                           ratio_of(weights, arm::kPgb, arm::kOutputBias)}}),
      measured(
          "A-BEST",
          "ASGER, 5.2",
          "Of the ranges 0.25, 0.5 and 1, α = 0.5 is the best: 5.67 against 5.89 with 0.25.",
          "The ratio of the test losses at the end, paired by seed. The document prints no loss "
          "for α = 1.",
          {"asger-ablation"},
          {.claimed = {ratio_of(loss, "alpha 0.5", "alpha 0.25"),
                       ratio_of(loss, "alpha 0.5", "alpha 1")},
           .matters = margin::kLoss,
           .size = {{5.67 / 5.89, 5.67 / 5.89}}}),
      measured(
          "I-LOSS",
          "Isotropy GMLP, 6.1",
          "The layer with the branch ends at a higher loss than SwiGLU: 4.997 against 4.9266.",
          "The ratio of the test losses at the end, paired by seed, with the branch and without "
          "it beside.",
          {"isogmlp"},
          {.claimed = {ratio_of(loss, "IsoGMLP", "SwiGLU", kHigher)},
           .matters = margin::kLoss,
           .size = {{4.997 / 4.9266, 4.997 / 4.9266}},
           .beside = {ratio_of(loss, "IsoGMLP", "no branch", kHigher)}}),
      measured("I-ORTH",
               "Isotropy GMLP, 6.3 and 7.1",
               "Orthogonal initialisation is crucial for training the combined layer: without it "
               "the loss is higher.",
               "Test loss at the end, paired by seed, with the orthogonal start and without.",
               {"isogmlp-ablation"},
               {.claimed = {{loss, "all", "no orthogonal start", kLower}},
                .matters = margin::kLoss,
                .beside = {{loss, "all", "scaled start", kLower}}}),
      measured(
          "I-PATH",
          "Isotropy GMLP, 6.3",
          "Further increasing the complexity of the pathway degrades performance: a branch of "
          "twice the width ends at a higher loss.",
          "Test loss at the end, paired by seed. The document does not say what complexity "
          "is; a quarter of the feed-forward width stands against an eighth.",
          {"isogmlp-ablation"},
          {.claimed = {{loss, "quarter of hidden", "all", kHigher}}, .matters = margin::kLoss}),
      {.id = "A-COMB",
       .source = "ASGER, 5.3",
       .statement = "Expanded ranges and the spatial part together are worse than the sum of what "
                    "each does alone.",
       .assumptions = kAsStudied,
       .derivation = "What the spatial part adds to the test loss at α = 0.5, less what it adds at "
                     "α = 0, paired by seed; 0.02 matters, 1 % of the loss.",
       .studies = {"asger-ablation"},
       .measure =
           [loss](const StudyRuns& study) {
             return check_interaction(study,
                                      {.metric = loss,
                                       .both = "alpha 0.5",
                                       .first = "alpha 0",
                                       .second = "no spatial part",
                                       .neither = "alpha 0, no spatial part",
                                       .first_name = "the spatial part",
                                       .second_name = "an expanded range",
                                       .expected = kHigher,
                                       .matters = {.absolute = 0.02}});
           }},
  };
}

std::vector<Claim> undecided_claims() {
  return {
      open("P-X3e",
           "Post-gating bias, 4.3 (grokking)",
           "Adversarial accuracy begins to rise earlier with PGB.",
           "the first step at which accuracy under the document's attack passes a level fixed in "
           "advance, with and without b, 10 seeds, in runs as long as figures 4 to 6"),
      open("P-EARLY",
           "Post-gating bias, section 5",
           "Instabilities are most visible early, at a large rate, and vanish once it decays.",
           "pgb-vitvae with the cosine schedule of the document: the share of spikes before and "
           "after the rate has halved; the study as it is has a constant rate"),
      open("P-MOVE",
           "Post-gating bias, Proposition 1, implication",
           "Under dropout or latent noise the direction that the mean adds moves from step to "
           "step.",
           "the cosine between the means of one layer in windows that follow each other, with "
           "dropout and latent noise and without, and with the same number of rows drawn anew at "
           "fixed weights beside it; a run stores no mean"),
      open("P-LOW",
           "Post-gating bias, 4.3",
           "What PGB gains in adversarial accuracy is more in models of lower capacity.",
           "the gain of PGB in one study whose grid has both sizes, paired by seed: its difference "
           "between 2 blocks of 64 and 3 of 256. pgb-mlp-mnist and pgb-mlp-mnist-2x64 differ in "
           "more than the size"),
      {.id = "P-WHO",
       .source = "Post-gating bias, section 1",
       .statement = "SwiGLU is the choice of PaLM, LLaMA, Phi-3 and Gemma 3.",
       .assumptions = "a statement about published models",
       .derivation = "No computation decides it.",
       .open = "the published configurations. In the package transformers 5.23.0 those of Llama "
               "and Phi-3 say silu, and that of Gemma 3 gelu_pytorch_tanh: its gate is a GELU"},
      open("I-BAL",
           "Isotropy GMLP, 5.2",
           "The best isotropy dimension is a compromise of stability and performance: more "
           "dimensions are more stable and end at a higher loss.",
           "loss spikes and test loss over the dimensions of the study isogmlp-ablation, in "
           "trainings that have spikes at all"),
      open("I-GEN",
           "Isotropy GMLP, 1.1",
           "Isotropic representations generalise better.",
           "test loss less training loss over a range of isotropies that is set from outside, at "
           "equal training loss; the document cites it and sets no isotropy"),
      open("P-ACUTE",
           "Post-gating bias, 3.2",
           "The rank-one correction of W_d makes the outputs acutely sensitive to small "
           "perturbations.",
           "a size of the sensitivity that is called acute: that of one layer's outputs is at most "
           "σ1(W + Δ), which P-KW' bounds on both sides of σ1(W)"),
      open("A-TEN",
           "ASGER, abstract",
           "ASGER is compared with ten alternative architectures.",
           "the losses of the others: the document prints two beside its own (Table 1), SwiGLU's "
           "and that of the best on a leaderboard, which it does not name"),
      open("A-EFF",
           "ASGER, section 2",
           "The layer's computational efficiency is comparable to that of the standard layer.",
           "a threshold for comparable: at the printed widths the layer has 3.67 times the "
           "multiplications (A-COST), at the balanced one as many (A-COUNT)"),
      open("A-GAP",
           "ASGER, 5.1",
           "The gap of 0.15 between ASGER and SwiGLU is the same all through training.",
           "the test loss at every evaluation of the study asger, balanced ASGER against SwiGLU, "
           "paired by seed: its slope over steps"),
      open("A-INIT",
           "ASGER, section 6",
           "Expanded gating ranges require careful initialisation.",
           "asger-ablation over a grid of initial standard deviations at α = 0, 0.5 and 1: the "
           "range of them that trains, for each α"),
  };
}

}  // namespace

std::vector<Claim> open_claims() {
  auto claims = measured_claims();
  for (auto& claim : undecided_claims()) claims.push_back(std::move(claim));
  return claims;
}

}  // namespace kappascope::theory
