// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kappascope/theory/claim.h"

/// One function a family of claims, each in the file of its name; claims.cpp puts them in order.
namespace kappascope::theory {

std::vector<Claim> proposition1_claims();
std::vector<Claim> lemma2_claims();

}  // namespace kappascope::theory
