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
  const auto differences = published_differences();
  findings.push_back({differences[0], true});
  findings.push_back({differences[1], true});
  findings.push_back({differences[2], false});
  return check_findings(findings);
}

}  // namespace

std::vector<Claim> asger_results_claims() {
  return {
      {.id = "A-TOK",
       .source = "ASGER, 4.1",
       .statement = "The data set of 2.9B tokens suffices for the 399 steps of 4M tokens.",
       .assumptions = "4M is any batch that rounds to it (2²² too), 2.9B likewise",
       .derivation = "The product, within what the printed digits stand for.",
       .standing = Standing::kNote,
       .check =
           [](const CheckContext&) {
             return with_condition(check_tokens_suffice(published_budget()),
                                   "some 55 % of the data set is seen, and none of it twice");
           }},
      {.id = "A-TOK'",
       .source = "ours, beside A-TOK",
       .statement = "399 steps are 1,596,000,000 tokens at 4·10⁶ a step and 1,673,527,296 at 2²²; "
                    "2.9·10⁹ tokens are 725 steps of 4·10⁶.",
       .assumptions = "every step has the full batch",
       .derivation = "The products.",
       .check = [](const CheckContext&) { return decide_derived_token_budget(); }},
      {.id = "A-LOSSp",
       .source = "ASGER, 5.1 and 5.2, as printed (ours)",
       .statement = "The printed numbers show the three differences: 5.08 against 4.93, 5.67 "
                    "(α = 1/2) against 5.89 (α = 1/4), and 0.02 for the spatial part.",
       .assumptions =
           "three runs an arm, losses normal over seeds, ± is their standard deviation, "
           "and where none is printed the 0.02 of ASGER in Table 1 stands for both arms; "
           "shown: Welch's test at 5 %, two-sided, for all that rounds to what is "
           "printed",
       .derivation = "With 4 degrees of freedom P(|T| <= t)² = s²(1 + c²/2)², s² = t²/(4+t²), "
                     "c² = 1 - s², a fraction. For α = 1 no loss is printed.",
       .check =
           [](const CheckContext&) {
             return with_condition(
                 decide_printed_losses(),
                 "the first two are shown, the second as long as the runs of each arm spread by "
                 "less than about five times that; taken as exact, 0.02 is shown from 9 runs an "
                 "arm on");
           }},
      {.id = "A-LOSSp'",
       .source = "corrects A-LOSSp",
       .statement = "Of the three differences the printed numbers show the first and the second, "
                    "the latter at spreads of 0.097 in each arm still and not of 0.098; the third "
                    "would be shown with 9 runs an arm and not with 8.",
       .assumptions = "as A-LOSSp, but the printed numbers taken as exact",
       .derivation = "As A-LOSSp; Student's distribution in fractions for every even number of "
                     "degrees of freedom.",
       .check = [](const CheckContext&) { return decide_derived_losses(); }},
  };
}

}  // namespace kappascope::theory
