// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "theory/claim.h"

namespace kappascope::theory {

/// A referee's report on one claim, in lines of at most 96 characters: the document's words and how
/// they are read, the verdict as a sentence, the witness line by line, the corrected statement, how
/// sure it is, what studies found, and where the code is. `verdict` is empty where the claim needs
/// a run, studies or more than there is; `corrected` is null where there is none; `studied` as
/// studied() has them.
std::string explain(const Claim& claim,
                    const std::optional<Verdict>& verdict,
                    const Claim* corrected,
                    const std::vector<study::ClaimVerdict>& studied = {});

/// One line of a table, of at most 96 characters: id, outcome, and as much of the statement as
/// fits.
std::string table_row(const Claim& claim, const Verdict& verdict);

/// The verdict alone, in a few lines: outcome, condition, both sides, evidence, witness.
std::string brief(const Claim& claim, const Verdict& verdict);

}  // namespace kappascope::theory
