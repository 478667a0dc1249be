// SPDX-License-Identifier: Apache-2.0
#include "reports/findings/ratio.h"

#include <fmt/format.h>

#include <cmath>

#include "reports/number_format.h"

namespace kappascope::reports {

std::string Ratio::certainty() const {
  if (!lower || !upper) return "No interval was recorded.";
  if (paired) {
    return fmt::format(
        "95 %: {}–{}× (in pairs of rows, step {}).", words(*lower), words(*upper), step);
  }
  return fmt::format("At least 90 %: {}–{}× (from the two 95 % intervals, step {}).",
                     words(*lower),
                     words(*upper),
                     step);
}

std::optional<Ratio> ratio_of(const store::StepValue* above, const store::StepValue* below) {
  if (above == nullptr || below == nullptr) return std::nullopt;
  const store::Scalar& a = above->scalar;
  const store::Scalar& b = below->scalar;
  if (!is_resolved(a) || !is_resolved(b) || !(b.value > 0) || !std::isfinite(a.value)) {
    return std::nullopt;
  }
  Ratio ratio{.value = a.value / b.value, .step = above->step};
  if (a.lower && a.upper && b.lower && b.upper && *b.lower > 0) {
    ratio.lower = *a.lower / *b.upper;
    ratio.upper = *a.upper / *b.lower;
  }
  return ratio;
}

std::optional<Ratio> paired_ratio(const store::StepValue* paired,
                                  const store::StepValue* above,
                                  const store::StepValue* below) {
  auto ratio = ratio_of(above, below);
  if (!ratio || paired == nullptr) return ratio;
  const store::Scalar& measured = paired->scalar;
  if (!std::isfinite(measured.value) || !measured.lower || !measured.upper) return ratio;
  return Ratio{.value = measured.value,
               .lower = measured.lower,
               .upper = measured.upper,
               .step = paired->step,
               .paired = true};
}

}  // namespace kappascope::reports
