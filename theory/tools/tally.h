// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "theory/claim.h"
#include "theory/exact/rational.h"
#include "theory/tools/sizes.h"

namespace kappascope::theory {

/// A case that refutes a statement, in numbers checkable by hand.
struct Witness {
  std::string text;
  double measured = 0, predicted = 0;
};

/// What a search has seen, and the verdict that follows: "holds" when every case agreed, "refuted"
/// when one did not and can be shown exactly, "undecided" when cases disagreed but none of them is
/// exact, or when there were none. Present cases in order of size: the first exact disagreement is
/// kept as the witness, so it is the smallest and roundest one. A verdict that holds shows the two
/// sides of the first case in which they are not zero.
class Tally {
 public:
  /// An exact comparison; `describe()` gives the text of the witness.
  template <std::invocable Describe>
  void compare(const Rational& actual, const Rational& stated, Describe&& describe) {
    record(actual == stated, [&] {
      return Witness{describe(), actual.to_double(), stated.to_double()};
    });
  }

  /// A statement that an exact computation found true or false in this case. `make_witness()` is
  /// called for the few cases that a verdict shows.
  template <std::invocable MakeWitness>
  void record(bool agrees, MakeWitness&& make_witness) {
    count(agrees);
    if (!agrees && !witness_) witness_ = make_witness();
    if (agrees && specimen_.measured == 0) specimen_ = make_witness();
  }

  /// A comparison in floating point: agrees when |actual - stated| <= tolerance · scale. It can
  /// make a verdict undecided, never refute by itself. A non-finite deviation disagrees.
  void compare_rounded(double actual, double stated, double scale, double tolerance);

  /// A yes or no about two numbers in floating point, equal within `tolerance` of each other.
  void record_rounded(bool agrees, double actual, double stated, double tolerance);

  /// Sizes of the case that is compared next; the verdict says from where to where each went.
  void sizes(const Sizes& sizes);

  [[nodiscard]] std::int64_t cases() const { return cases_; }
  [[nodiscard]] bool has_witness() const { return witness_.has_value(); }

  /// `left` and `right` name the two numbers; `route` is "exact", "search", ...
  [[nodiscard]] Verdict verdict(std::string left, std::string right, std::string route) const;

 private:
  void count(bool agrees) {
    ++cases_;
    disagreements_ += agrees ? 0 : 1;
  }

  std::int64_t cases_ = 0, disagreements_ = 0;
  double largest_deviation_ = 0, tolerance_ = 0;
  std::optional<Witness> witness_;
  std::vector<study::Extent> extents_;
  Witness specimen_;  ///< the first agreeing case whose number is not zero
};

/// One verdict of several parts that must all hold: refuted when one is, undecided when one is and
/// none is refuted; cases and sizes add up, witnesses are joined. The two sides and the margin are
/// those of the first part that does not hold; when all hold, those of the first and the largest
/// margin.
Verdict conjunction(const std::vector<Verdict>& parts);

}  // namespace kappascope::theory
