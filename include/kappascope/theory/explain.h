// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "kappascope/theory/claim.h"

namespace kappascope::theory {

/// What a reviewer needs to check one claim by hand, as text of lines of at most 96 characters: the
/// statement with its source and assumptions, how it is decided, the verdict with both sides and
/// its evidence, the witness, and the corrected statement. `verdict` is empty where the claim waits
/// for a run or for studies; `corrected` is null where there is none.
std::string explain(const Claim& claim,
                    const std::optional<Verdict>& verdict,
                    const Claim* corrected);

/// One line of a table, of at most 96 characters: id, outcome, and as much of the statement as
/// fits.
std::string table_row(const Claim& claim, const Verdict& verdict);

/// The verdict alone, in a few lines: outcome, condition, both sides, evidence, witness.
std::string brief(const Claim& claim, const Verdict& verdict);

}  // namespace kappascope::theory
