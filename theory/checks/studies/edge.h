// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "theory/claim.h"

namespace kappascope::theory {

/// "The sharpness that the optimiser sees rises to its stability limit and stays there", of the
/// arms whose names begin with `prefix`, a learning rate each. In every run it begins below nine
/// tenths of the limit and reaches it; from there on the median of its ratio to the limit lies
/// within a fifth of 1, in every arm by two one-sided tests over the seeds, of which the worst
/// counts (Berger 1982). Refuted where an arm is shown to lie beyond that; undecided where a run
/// does not reach the limit, which more steps may change, or diverges. Measured: the mean of the
/// medians.
Verdict check_edge(const StudyRuns& study, const std::string& prefix);

}  // namespace kappascope::theory
