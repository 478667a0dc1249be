// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "lab/study/comparison.h"
#include "theory/claim.h"

namespace kappascope::theory {

struct Contrast;

/// What a study holds of a contrast: a comparison a condition, or what it lacks.
struct ArmPairs {
  std::vector<study::Comparison> comparisons;
  std::string lacking;
};

ArmPairs compare_arms(const StudyRuns& study, const Contrast& contrast);

/// One comparison as a sentence: who against whom, by how much, with interval, pairs and p.
std::string describe(const study::Comparison& comparison);

}  // namespace kappascope::theory
