// SPDX-License-Identifier: Apache-2.0
#include "theory/tools/tally.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace kappascope::theory {

void Tally::compare_rounded(double actual, double stated, double scale, double tolerance) {
  const double gap = std::abs(actual - stated);
  const double deviation = gap == 0 ? 0 : gap / scale;
  const bool agrees = deviation <= tolerance;
  count(agrees);
  tolerance_ = std::max(tolerance_, tolerance);
  if (agrees) largest_deviation_ = std::max(largest_deviation_, deviation);
}

void Tally::record_rounded(bool agrees, double actual, double stated, double tolerance) {
  count(agrees);
  tolerance_ = std::max(tolerance_, tolerance);
  if (agrees && specimen_.measured == 0) specimen_ = {{}, actual, stated};
}

void Tally::sizes(const Sizes& sizes) {
  for (const auto& [name, value] : sizes) study::widen(extents_, {name, value, value});
}

Verdict Tally::verdict(std::string left, std::string right, std::string route) const {
  Verdict verdict;
  verdict.left = std::move(left);
  verdict.right = std::move(right);
  verdict.route = std::move(route);
  verdict.cases = cases_;
  verdict.tolerance = tolerance_;
  verdict.extents = extents_;
  if (witness_) {
    verdict.outcome = Outcome::kRefuted;
    verdict.measured = witness_->measured;
    verdict.predicted = witness_->predicted;
    verdict.margin = std::abs(witness_->measured - witness_->predicted);
    verdict.witness = witness_->text;
  } else if (disagreements_ > 0 || cases_ == 0) {
    verdict.outcome = Outcome::kUndecided;
  } else {
    verdict.outcome = Outcome::kHolds;
    verdict.measured = specimen_.measured;
    verdict.predicted = specimen_.predicted;
    verdict.margin = largest_deviation_;
  }
  return verdict;
}

Verdict conjunction(const std::vector<Verdict>& parts) {
  assert(!parts.empty());
  const auto badness = [](const Verdict& part) {
    if (part.outcome == Outcome::kRefuted) return 2;
    return part.outcome == Outcome::kUndecided ? 1 : 0;
  };
  Verdict whole = *std::max_element(parts.begin(), parts.end(), [&](const auto& a, const auto& b) {
    return badness(a) < badness(b);
  });
  whole.cases = 0;
  whole.witness.clear();
  whole.extents.clear();
  for (const auto& part : parts) {
    whole.cases += part.cases;
    whole.tolerance = std::max(whole.tolerance, part.tolerance);
    for (const auto& extent : part.extents) study::widen(whole.extents, extent);
    if (badness(whole) == 0) whole.margin = std::max(whole.margin, part.margin);
    if (part.witness.empty()) continue;
    if (!whole.witness.empty()) whole.witness += " | ";
    whole.witness += part.witness;
  }
  return whole;
}

}  // namespace kappascope::theory
