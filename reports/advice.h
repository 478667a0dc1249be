// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kappascope/store/run.h"
#include "reports/diagnosis/diagnosis.h"

namespace kappascope::reports {

struct LayerAdvice : LayerBias {
  /// Steps to learn 90 % of W_d's own problem, with the bias where there is one; where measured.
  std::optional<store::Scalar> steps{};
  /// Variance of the gradient of W_d with b = -μ, and with the best b, over that with b = 0, at the
  /// same masks and gradients of the output.
  std::optional<Ratio> variance_at_minus_mean{}, variance_at_best{};
  std::string verdict{};  ///< a sentence
};

/// One thing to try, as parts of a sentence.
struct Suggestion {
  std::string what{};      ///< precision, rate, warm-up, batch, norm or bias
  std::string evidence{};  ///< the numbers behind it, with their step
  std::string attempt;     ///< what to try
  std::string success;     ///< how one would know that it worked
  std::string unknown;     ///< what these numbers cannot know
};

/// "Rate: EVIDENCE; try ATTEMPT; it has worked if SUCCESS; not known: UNKNOWN."
std::string to_text(const Suggestion& suggestion);

struct Advice {
  std::vector<Diagnosis> diagnosis{};  ///< an answer a question, in their order
  /// What the numbers of the run ask for, the most urgent first: five at most, perhaps none.
  std::vector<Suggestion> suggestions{};
  std::vector<LayerAdvice> layers{};
  /// What the theory does not promise, a sentence each, with the claim in theory/LEDGER.md.
  std::vector<std::string> limits{};
};

/// From what a run measured last, and the spikes of its loss. Throws Error when the run cannot be
/// read or no layer of it was measured.
Advice advice(const std::filesystem::path& run);

std::string to_text(const Advice& advice);
/// {"diagnosis": [{"question", "verdict", "grade", "value", "lower", "upper", "threshold",
/// "evidence": [{"series", "layer", "step"}, ...], "action"}, ...],
/// "suggestions": [{"what", "evidence", "attempt", "success", "unknown"}, ...],
/// "layers": [{"layer": ..., "step": ..., "mean_costs": {"value", "lower", "upper", "paired",
/// "step"} or null, ...}], "limits": [...]}.
/// With "run" before them where it is named.
std::string to_json(const Advice& advice, const std::string& run = "");

}  // namespace kappascope::reports
