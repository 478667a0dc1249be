// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "theory/documents/documents.h"

/// The counterexamples of the ten findings, each computed where it is written down.
namespace kappascope::theory {

WorkedWitness odd_attention();
WorkedWitness vanishing_noise();
WorkedWitness rank_one_correction();
WorkedWitness constant_units();
WorkedWitness kappa_falls();
WorkedWitness top_stays();
WorkedWitness joint_problem();
WorkedWitness covariance_grows();
WorkedWitness lemma2_by_hand();
WorkedWitness bias_at_zero();

}  // namespace kappascope::theory
