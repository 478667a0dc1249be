// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <optional>
#include <string>

#include "theory/tools/tally.h"

namespace kappascope::theory {

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

  /// `left` and `right` name the two numbers; `route` is "exact", "search", ...
  [[nodiscard]] Verdict verdict(std::string left, std::string right, std::string route) const;

 private:
  Tally tally_;
  std::string shown_yes_, shown_no_;
};

/// A condition that was found exact, as the verdict on the statement that left it out: both sides
/// stay shown. Any other verdict is returned as it is, with the condition.
Verdict holds_under(Verdict verdict, std::string condition);

/// The same found exact, as the verdict on the corrected claim, which needs no witness.
Verdict proven(Verdict verdict);

}  // namespace kappascope::theory
