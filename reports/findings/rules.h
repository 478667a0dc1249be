// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reports/findings.h"
#include "reports/number_format.h"

namespace kappascope::reports {

using Findings = std::vector<Finding>;

// One question each; every function appends what the stores answer, or nothing.
void find_trouble(const std::vector<Arm>& arms, Findings& out);
void find_missing_windows(const std::vector<Arm>& arms, Findings& out);
void find_alarms(const std::vector<Arm>& arms, Findings& out);
void find_loss(const std::vector<Arm>& arms, Findings& out);
void find_spike_findings(const std::vector<Arm>& arms, Findings& out);
void find_learning(const std::vector<Arm>& arms, Findings& out);
void find_kappa_ratio(const std::vector<Arm>& arms, Findings& out);
void find_kappa_left(const std::vector<Arm>& arms, Findings& out);
void find_absorption(const std::vector<Arm>& arms, Findings& out);
void find_arm_kappas(const std::vector<Arm>& arms, Findings& out);
void find_curvature(const std::vector<Arm>& arms, Findings& out);
void find_spectra(const std::vector<Arm>& arms, Findings& out);
void find_gradient_variance(const std::vector<Arm>& arms, Findings& out);
void find_bias_choice(const std::vector<Arm>& arms, Findings& out);
void find_massive(const std::vector<Arm>& arms, Findings& out);
void find_alignment(const std::vector<Arm>& arms, Findings& out);
void find_eight_bit(const std::vector<Arm>& arms, Findings& out);
void find_lost_updates(const std::vector<Arm>& arms, Findings& out);
void find_attention(const std::vector<Arm>& arms, Findings& out);
void find_expert_load(const std::vector<Arm>& arms, Findings& out);
void find_unresolved(const std::vector<Arm>& arms, Findings& out);
void find_broken_features(const std::vector<Arm>& arms, Findings& out);
void find_cost(const std::vector<Arm>& arms, Findings& out);

}  // namespace kappascope::reports
