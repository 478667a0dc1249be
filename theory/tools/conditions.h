// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <optional>
#include <string>

#include "theory/tools/tally.h"

namespace kappascope::theory {

/// The verdict with the condition under which the statement is true.
Verdict with_condition(Verdict verdict, std::string condition);

/// A statement that is true under a condition: `within` is its verdict on the cases that meet the
/// condition, `outside` its verdict on cases that do not. "Holds under" when it holds within and
/// is refuted outside; the numbers are those within, the witness is the one outside. Otherwise
/// there is no such condition: refuted or undecided when it is so within, and undecided when
/// nothing refutes it outside.
Verdict holds_under(std::string condition, Verdict within, const Verdict& outside);

/// The verdict on a statement that left out a condition which `found` shows to be exact.
Verdict holds_exactly_under(std::string condition, Verdict found);

/// The same as the verdict on the corrected claim, which needs no witness.
Verdict proven(Verdict found);

/// A condition that is necessary and sufficient has been tried only where both answers occurred.
class BothSides {
 public:
  void see(bool answer) { (answer ? yes_ : no_) = true; }
  /// Undecided instead of "holds" when only one answer was seen.
  [[nodiscard]] Verdict demand(Verdict verdict) const;

 private:
  bool yes_ = false, no_ = false;
};

/// Compares what a statement says of each case, yes or no, with what is so there. It holds only
/// when both answers occurred, because a condition that is never met, or always, was not tested.
/// The witness of a verdict that holds shows the first case of either side.
class ConditionTally {
 public:
  /// `stated` is empty where the statement is silent: the case then does not count.
  template <std::invocable MakeWitness>
  void record(bool actual, const std::optional<bool>& stated, const MakeWitness& make_witness) {
    if (!stated) return;
    auto& shown = actual ? shown_yes_ : shown_no_;
    if (shown.empty()) shown = make_witness().text;
    tally_.record(actual == *stated, make_witness);
  }

  void sizes(const Sizes& sizes) { tally_.sizes(sizes); }

  /// `left` and `right` name the two numbers; `route` is "exact", "search", ...
  [[nodiscard]] Verdict verdict(std::string left, std::string right, std::string route) const;

 private:
  Tally tally_;
  std::string shown_yes_, shown_no_;
};

}  // namespace kappascope::theory
