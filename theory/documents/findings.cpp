// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "theory/documents/documents.h"
#include "theory/documents/witnesses.h"

namespace kappascope::theory {

const std::vector<KeyFinding>& findings() {
  static const std::vector<KeyFinding> all{
      {"P-MSEb",
       "Section 3.1, minimum-MSE remark",
       &vanishing_noise,
       "How weights make up for a missing intercept depends on the shape of the noise however "
       "small it is: they read the offset in the quiet features. Lemma 1 says nothing about what "
       "training with a little noise ends at."},
      {"P-KW",
       "Section 3.2, ill-conditioning",
       &rank_one_correction,
       "A rank-one change of W_d can worsen its conditioning or repair it. A large one never "
       "repairs it: from ‖Δ‖ = σ1(1 + σ_{r-1}/σ_r) on κ is no smaller. Measure the singular values "
       "of W_d before you "
       "add "
       "a bias on this ground."},
      {"P-DIM",
       "Section 3.2, no orthogonal subspace",
       &constant_units,
       "A bias-free gated layer behind an RMS norm can make any constant: exactly from 2d of its "
       "units on, and with d of them as nearly as one likes (u_j = e_j, g_j = δe_j, δ small). A "
       "bias is one way to a constant, not the only one."},
      {"P-P1f",
       "Proposition 1, the condition number",
       &kappa_falls,
       "The mean can improve the conditioning, where it fills a direction in which the features "
       "hardly vary. Look at both numbers of your layer, kappa/sigma and kappa/second_moment, "
       "before you centre."},
      {"P-P1d",
       "Appendix A.3, proof of Proposition 1",
       &top_stays,
       "The largest eigenvalue, and with it the largest stable step, changes only if the mean "
       "points along the strong directions of Σ or is long beside the gap to them."},
      {"P-JOINT",
       "Proposition 1, implication",
       &joint_problem,
       "An intercept c behind W_d never conditions better than W_d alone. A bias b in front of it "
       "can: at b = -μ the optimiser sees centred features (P-BEHIND: κ 1 with b, 101 without, "
       "10,402 with c). Descent on b comes there where the target has no mean that W_d can make "
       "(P-PATH); in our studies, whose targets have one, a trained b neither went there nor "
       "stayed (P-CANCEL, P-STAY), and features that were kept centred ended at no lower loss "
       "(P-CENTRE): "
       "compare losses, not "
       "condition numbers, before you centre."},
      {"P-VCc",
       "Section 3.2, variance control",
       &covariance_grows,
       "The best bias puts the output's mean on the target's; it does not centre the features. "
       "Where the target has a mean the gradient's covariance can grow with it."},
      {"P-L2a",
       "Lemma 2",
       &lemma2_by_hand,
       "Expect p(1-p)μ² more gradient variance than the lemma says, which no bias removes; the "
       "place of the best bias, -pμ, is right for dropout without rescaling; with the "
       "rescaled one of the frameworks it is -μ."},
      {"P-EXP",
       "Sections 5 and 6, expressivity",
       &bias_at_zero,
       "With inputs that can be zero a bias adds functions that no width replaces. On normalised "
       "inputs it is worth 2d units. An output bias on Z does the same: compare with it."},
      {"P-ODD",
       "Sections 3.1 and 3.2, attention against gating",
       &odd_attention,
       "The section's display has the norm's shift b, and with it the sentence stands: attention "
       "passes the constant on (P-ATTa, P-ATTb). Without that shift, as in models that drop all "
       "biases, an attention block cannot give a feature a constant level, and a gated layer can: "
       "keep b_O or the norm's shift before you think of the MLP."},
  };
  return all;
}

const KeyFinding* find_finding(const std::string& id) {
  const auto found = std::ranges::find(findings(), id, &KeyFinding::claim);
  return found == findings().end() ? nullptr : &*found;
}

}  // namespace kappascope::theory
