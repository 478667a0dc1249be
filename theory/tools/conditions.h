// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kappascope/theory/claim.h"

namespace kappascope::theory {

/// The verdict with the condition under which the statement is true.
Verdict with_condition(Verdict verdict, std::string condition);

/// A statement that is true under a condition: `within` is its verdict on the cases that meet the
/// condition, `outside` its verdict on cases that do not. "Holds under" when it holds within and
/// is refuted outside; the numbers are those within, the witness is the one outside. Otherwise
/// there is no such condition: refuted or undecided when it is so within, and undecided when
/// nothing refutes it outside.
Verdict holds_under(std::string condition, Verdict within, const Verdict& outside);

/// A condition that is necessary and sufficient has been tried only where both answers occurred.
class BothSides {
 public:
  void see(bool answer) { (answer ? yes_ : no_) = true; }
  /// Undecided instead of "holds" when only one answer was seen.
  [[nodiscard]] Verdict demand(Verdict verdict) const;

 private:
  bool yes_ = false, no_ = false;
};

}  // namespace kappascope::theory
