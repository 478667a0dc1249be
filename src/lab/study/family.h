// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lab/study/comparison.h"

namespace kappascope::study {

/// All tests that one study makes: the comparisons of its table and those of its claims, each once.
/// They are judged together at kLevel (Holm 1979), so that a comparison has the same corrected p in
/// the table and in every verdict that rests on it.
class Family {
 public:
  /// Once, however often it is added and whichever of the two arms comes first.
  void add(const Comparison& comparison);
  /// Any other test, under a name of its own. A NaN does not count.
  void add(const std::string& name, double p);

  /// NaN for a test that was not added or has none.
  [[nodiscard]] double corrected(const std::string& name) const;
  /// Fills in corrected_p, and `detectable` at the level at which each is judged.
  void correct(std::vector<Comparison>& comparisons) const;
  /// At which a test that is not found is judged: kLevel over the number of those.
  [[nodiscard]] double level() const;
  [[nodiscard]] std::size_t size() const { return tests_.size(); }

 private:
  [[nodiscard]] std::map<std::string, double> all_corrected() const;

  std::map<std::string, double> tests_;  ///< p by name
};

}  // namespace kappascope::study
