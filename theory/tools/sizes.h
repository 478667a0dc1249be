// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "theory/exact/rational.h"

namespace kappascope::theory {

/// How large one case of a search is: "d" and its width, "tokens" and how many.
using Sizes = std::vector<std::pair<std::string, std::int64_t>>;

/// The largest whole number at or below a small fraction.
inline std::int64_t whole(const Rational& value) {
  return std::llround(value.floor().to_double());
}

}  // namespace kappascope::theory
