// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "theory/claim.h"
#include "theory/exact/enclosure.h"

/// What the numbers that a paper prints can bear. A printed number stands for all that round to
/// it; what is said of printed numbers is shown when it is so for all of these.
namespace kappascope::theory {

/// A training as printed: `steps` steps of `batch` tokens, and a number of tokens.
struct TokenBudget {
  std::string text;
  Enclosure steps, batch, total;
};
/// Whether steps times batch can be the total, within what the printed digits stand for.
Verdict check_token_budget(const TokenBudget& says);
/// Whether steps times batch is no more than the total, for all that the digits stand for.
Verdict check_tokens_suffice(const TokenBudget& says);
/// 399 steps of 4M tokens, and a data set of 2.9B; and what they are exactly.
TokenBudget published_budget();
std::vector<TokenBudget> derived_budgets();

/// Two arms of `runs` trainings each: by how much their mean losses differ, and the standard
/// deviation of the runs of each arm.
struct ArmDifference {
  std::string text;
  Enclosure difference;
  Enclosure spread_a, spread_b;
  int runs = 3;
};

/// A difference, and whether it is said to be shown: whether Welch's test, at 5 % and two-sided,
/// rejects equal means for every value that the printed numbers stand for. Losses normal over
/// seeds.
struct Finding {
  ArmDifference arms;
  bool shown = false;
};
/// t² = n·difference²/(s_a² + s_b²) and its degrees of freedom, 2(n - 1) for equal spreads and
/// else between n - 1 and that, taken at the end of their bounds that is against the answer:
/// shown when the least t² suffices with the fewest degrees, not shown when the largest does not
/// with the most. A finding that lies between counts as undecided. All in exact arithmetic.
Verdict check_findings(const std::vector<Finding>& says);

/// 5.08 ± 0.02 against 4.93 ± 0.01; 5.67 against 5.89, and the 0.02 of the spatial part, for which
/// no spread is printed: both arms get the 0.02 of the main table. Each with three runs.
std::vector<ArmDifference> published_differences();
/// What would have been enough: 5.67 against 5.89 with spreads of 0.097 (shown) and 0.098 (not);
/// 0.02 with spreads of 0.02 and 8 runs an arm (not) and 9 (shown).
std::vector<Finding> bracketing_findings();

}  // namespace kappascope::theory
