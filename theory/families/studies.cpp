// SPDX-License-Identifier: Apache-2.0
// Statements about whole trainings: each is measured by a study, not decided by a check.
#include "theory/families/families.h"

namespace kappascope::theory {

std::vector<Claim> study_claims() {
  return {
      {.id = "P-X1",
       .source = "Post-gating bias, section 4",
       .statement = "PGB shortens loss spikes of a ViT-VAE and gives a slightly better loss.",
       .assumptions = "as in the study",
       .derivation = "Spikes found and measured with and without the bias, over seeds.",
       .study = "pgb-vitvae"},
      {.id = "P-X2",
       .source = "Post-gating bias, section 4",
       .statement = "PGB has no effect in Phi-3-like and Gemma-3-like language models, whatever "
                    "other biases stand beside it.",
       .assumptions = "as in the study",
       .derivation = "Final loss of the four bias configurations, paired by seed; no effect means "
                     "an interval inside a stated margin, not an interval around zero.",
       .study = "pgb-phi3, pgb-gemma3"},
      {.id = "P-X3",
       .source = "Post-gating bias, section 4",
       .statement = "PGB raises the adversarial accuracy of gated MLPs, by 14 to 16 points on "
                    "MNIST with 3 blocks of 256.",
       .assumptions = "as in the study",
       .derivation = "Clean and adversarial accuracy through training, paired by seed: the attack "
                     "of the document (random start, ten steps), the one-step attack of that name, "
                     "and projected gradient descent.",
       .study = "pgb-mlp"},
      {.id = "P-X4",
       .source = "Post-gating bias, abstract",
       .statement =
           "A controlled study over dropout, latent noise and seeds shows the effect of PGB.",
       .assumptions = "as in the study",
       .derivation =
           "Effect sizes with intervals over the grid, corrected for the number of comparisons.",
       .study = "pgb-controlled"},
      {.id = "P-X5",
       .source = "Post-gating bias, future work",
       .statement = "The eigenvalues of the Hessian evolve differently with PGB.",
       .assumptions = "as in the study",
       .derivation = "Top eigenvalues and density through training at several learning rates.",
       .study = "hessian-evolution"},
      {.id = "Z-POST",
       .source = "Bias redundancy, post-norm",
       .statement = "With post-normalisation the Q, K, V biases and the second feed-forward bias "
                    "are usually useless.",
       .assumptions = "as in the study",
       .derivation = "Loss with and without each bias, paired by seed.",
       .study = "bias-redundancy"},
      {.id = "A-MEM",
       .source = "ASGER, efficiency",
       .statement = "The spatial part raises peak memory from 31.49 to 40.27 GB.",
       .assumptions = "as in the study",
       .derivation = "The ratio of peak memory, at the sizes that fit here.",
       .study = "asger"},
      {.id = "A-LOSS",
       .source = "ASGER, results",
       .statement = "ASGER ends at loss 5.08 against SwiGLU's 4.93; α = 0.5 is the best; the "
                    "spatial part gives 0.02.",
       .assumptions = "as in the study",
       .derivation = "Final loss over seeds, with the interval of each difference.",
       .study = "asger"},
      {.id = "I-ISO",
       .source = "Isotropy GMLP, method",
       .statement = "The isotropy branch keeps the features that enter the down-projection "
                    "isotropic through training.",
       .assumptions = "as in the study",
       .derivation = "Mean cosine, IsoScore and effective rank with and without the branch.",
       .study = "isogmlp"},
      {.id = "I-INIT",
       .source = "Isotropy GMLP, ablation",
       .statement = "Orthogonal initialisation of the branch reduces gradient explosions.",
       .assumptions = "as in the study",
       .derivation =
           "Share of steps with a gradient norm above a stated multiple of its median, over seeds.",
       .study = "isogmlp"},
      {.id = "I-DIM",
       .source = "Isotropy GMLP, ablation",
       .statement = "An isotropy dimension of about an eighth of the hidden dimension is best.",
       .assumptions = "as in the study",
       .derivation = "Loss over the dimension, paired by seed.",
       .study = "isogmlp"},
  };
}

}  // namespace kappascope::theory
