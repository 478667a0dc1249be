// SPDX-License-Identifier: Apache-2.0
// "ASGER", its experiment as printed: the tokens of its steps, and what its losses show.
#include <utility>

#include "theory/checks/asger/printed_results.h"
#include "theory/families/families.h"
#include "theory/tools/conditions.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

Verdict decide_derived_token_budget() {
  std::vector<Verdict> parts;
  for (const auto& budget : derived_budgets()) parts.push_back(check_token_budget(budget));
  return conjunction(parts);
}

Verdict decide_printed_losses() {
  std::vector<Finding> findings;
  for (auto& difference : published_differences()) {
    findings.push_back({std::move(difference), true});
  }
  // One by one, so that every one that is not shown is in the witness.
  return conjunction({check_findings({findings[0]}),
                      check_findings({findings[1]}),
                      check_findings({findings[2]})});
}

Verdict decide_derived_losses() {
  auto findings = bracketing_findings();
  bool first = true;
  for (auto& difference : published_differences()) {
    findings.push_back({std::move(difference), std::exchange(first, false)});
  }
  return check_findings(findings);
}

}  // namespace

std::vector<Claim> asger_results_claims() {
  return {
      {.id = "A-TOK",
       .source = "ASGER, 4.1",
       .statement = "399 steps of 4M tokens are the 2.9B tokens of the experiment.",
       .assumptions = "4M is any batch that rounds to it (2²² too), 2.9B likewise",
       .derivation = "The product, within what the printed digits stand for.",
       .check =
           [](const CheckContext&) {
             return with_condition(
                 check_token_budget(published_budget()),
                 "no batch that rounds to 4M makes it: 2.9B are 725 steps of 4·10⁶; as "
                 "the size of a data set of which 55 % are seen, 2.9B is no contradiction");
           }},
      {.id = "A-TOK'",
       .source = "corrects A-TOK",
       .statement = "399 steps are 1,596,000,000 tokens at 4·10⁶ a step and 1,673,527,296 at 2²²; "
                    "2.9·10⁹ tokens are 725 steps of 4·10⁶.",
       .assumptions = "every step has the full batch",
       .derivation = "The products.",
       .check = [](const CheckContext&) { return decide_derived_token_budget(); }},
      {.id = "A-LOSSp",
       .source = "ASGER, 5.1 and 5.2, as printed (ours)",
       .statement = "The printed numbers show the three differences: 5.08 against 4.93, 5.67 "
                    "(α = 1/2) against 5.89 (α = 1/4), and 0.02 for the spatial part.",
       .assumptions = "three runs an arm, losses normal over seeds, ± is their standard deviation; "
                      "for the spatial part that of the main table; shown: Welch's test at 5 %, "
                      "two-sided, for all that rounds to what is printed",
       .derivation = "With 4 degrees of freedom P(|T| <= t)² = s²(1 + c²/2)², s² = t²/(4+t²), "
                     "c² = 1 - s², a fraction. For α = 1 no loss is printed.",
       .check =
           [](const CheckContext&) {
             return with_condition(
                 decide_printed_losses(),
                 "5.08 against 4.93 is shown; 5.67 against 5.89 exactly when the runs of "
                 "each arm spread by 0.097 or less (0.098 is too much); 0.02 at a spread of "
                 "0.02 exactly from 9 runs an arm on");
           }},
      {.id = "A-LOSSp'",
       .source = "corrects A-LOSSp",
       .statement = "Of the three differences the printed numbers show the first. The second would "
                    "be shown at spreads of 0.097 in each arm and not of 0.098, the third with 9 "
                    "runs an arm and not with 8.",
       .assumptions = "as A-LOSSp",
       .derivation = "As A-LOSSp; Student's distribution in fractions for every even number of "
                     "degrees of freedom.",
       .check = [](const CheckContext&) { return decide_derived_losses(); }},
  };
}

}  // namespace kappascope::theory
