// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "kappascope/theory/claim.h"

namespace kappascope::theory {

/// What a reviewer needs to check one claim by hand, in lines of at most 96 characters: the
/// statement, the verdict and its first witness as an example; then source, assumptions,
/// derivation, condition, both sides, evidence, further witnesses and the corrected statement. A
/// condition that is the corrected statement is printed once. `verdict` is empty where the claim
/// needs a run or studies; `corrected` is null where there is none.
std::string explain(const Claim& claim,
                    const std::optional<Verdict>& verdict,
                    const Claim* corrected);

/// One line of a table, of at most 96 characters: id, outcome, and as much of the statement as
/// fits.
std::string table_row(const Claim& claim, const Verdict& verdict);

/// The verdict alone, in a few lines: outcome, condition, both sides, evidence, witness.
std::string brief(const Claim& claim, const Verdict& verdict);

}  // namespace kappascope::theory
