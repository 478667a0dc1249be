// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lab/study/verdict.h"

namespace kappascope::theory {

/// What the left side of a question of yes or no ends with: its number is 1 or 0.
inline constexpr const char* kYesOrNo = " (1) or not (0)";

/// The two numbers of a verdict with their names and intervals, to so many digits: "κ(W + Δ): 1;
/// κ(W): 2". Of a question of yes or no: "a constant is made: no; as stated: yes".
std::string sides(const study::Verdict& verdict, int digits);

}  // namespace kappascope::theory
