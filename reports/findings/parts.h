// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reports/findings.h"

namespace kappascope::reports {

using Findings = std::vector<Finding>;

// One question each; every function appends what the stores answer, or nothing.
void find_trouble(const std::vector<Arm>& arms, Findings& out);
void find_loss(const std::vector<Arm>& arms, Findings& out);
void find_kappa_ratio(const std::vector<Arm>& arms, Findings& out);
void find_absorption(const std::vector<Arm>& arms, Findings& out);
void find_arm_kappas(const std::vector<Arm>& arms, Findings& out);
void find_curvature(const std::vector<Arm>& arms, Findings& out);
void find_gradient_variance(const std::vector<Arm>& arms, Findings& out);
void find_bias_choice(const std::vector<Arm>& arms, Findings& out);
void find_unresolved(const std::vector<Arm>& arms, Findings& out);
void find_broken_features(const std::vector<Arm>& arms, Findings& out);
void find_cost(const std::vector<Arm>& arms, Findings& out);

/// A number for reading: three digits, "1.2×10⁷" when large or small, "∞", "not a number".
std::string words(double value);
/// A share as "12 %"; two digits below ten, so that 1.8 % is not 2 %.
std::string percent(double share);
/// "A", "A and B", "A, B and C".
std::string listed(const std::vector<std::string>& items);
/// "95 %: 31–52", or "" without an interval.
std::string interval(const store::Scalar& scalar);

}  // namespace kappascope::reports
