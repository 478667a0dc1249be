// SPDX-License-Identifier: Apache-2.0
#include "theory/tools/sides.h"

#include <fmt/format.h>

#include <string_view>

namespace kappascope::theory {

std::string sides(const study::Verdict& verdict, int digits) {
  const std::string_view left = verdict.left, ending = kYesOrNo;
  if (left.ends_with(ending)) {
    const auto word = [](double number) { return number == 0 ? "no" : "yes"; };
    return fmt::format("{}: {}; {}: {}",
                       left.substr(0, left.size() - ending.size()),
                       word(verdict.measured),
                       verdict.right,
                       word(verdict.predicted));
  }
  auto text = fmt::format("{}: {:.{}g}", left, verdict.measured, digits);
  if (verdict.lower && verdict.upper)
    text += fmt::format(" [{:.{}g}, {:.{}g}]", *verdict.lower, digits, *verdict.upper, digits);
  return text + fmt::format("; {}: {:.{}g}", verdict.right, verdict.predicted, digits);
}

}  // namespace kappascope::theory
