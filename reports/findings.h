// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "reports/runs/arms.h"

namespace kappascope::reports {

/// One sentence about the runs, computed from the store, with what is known of its error.
struct Finding {
  std::string id;         ///< "kappa_ratio": what kind of finding, for tests and anchors
  std::string text;       ///< plain text
  std::string certainty;  ///< interval, or why there is none; plain text
  bool warning = false;   ///< something a reader should not overlook
  std::string topic{};    ///< the heading that it stands under; neighbours share it
};

/// What a kind of finding is about, for the line that stands for several of them: "Skipped probes".
/// Empty for kinds of which each is an answer of its own, as the verdicts of a study.
std::string in_words(const std::string& id);

/// Whether it is about what a document states, not about the runs: the page of claims has it.
bool is_about_documents(const Finding& finding);

/// In the order of importance: what went wrong, the loss, conditioning, bias, curvature, gradients,
/// what could not be resolved, what probing cost.
std::vector<Finding> find_findings(const std::vector<Arm>& arms);

}  // namespace kappascope::reports
