// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "theory/claim.h"

/// One function a family of claims, each in the file of its name; claims.cpp puts them in order.
namespace kappascope::theory {

std::vector<Claim> dichotomy_claims();
std::vector<Claim> offsets_claims();
std::vector<Claim> offset_routes_claims();
std::vector<Claim> proposition1_claims();
std::vector<Claim> real_features_claims();
std::vector<Claim> descent_claims();
std::vector<Claim> variance_control_claims();
std::vector<Claim> lemma2_claims();
std::vector<Claim> centring_claims();
std::vector<Claim> bias_redundancy_claims();
std::vector<Claim> asger_claims();
std::vector<Claim> asger_results_claims();
std::vector<Claim> isotropy_claims();
std::vector<Claim> costs_claims();
std::vector<Claim> study_claims();
std::vector<Claim> layer_study_claims();
std::vector<Claim> edge_claims();
std::vector<Claim> open_claims();

}  // namespace kappascope::theory
