// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kappascope/store/run.h"

namespace kappascope::reports {

/// A quotient of two measured numbers; the interval is missing where one of them has none.
struct MeasuredRatio {
  double value = 0;
  std::optional<double> lower{}, upper{};
  /// The interval is of 95 %, of the quotient itself, as the run measured it of the same rows. Else
  /// it is put together from two intervals, and holds with at least 90 %.
  bool paired = false;
  std::int64_t step = 0;  ///< of both numbers
};

/// What the features' mean costs one down-projection, and what a bias would do about it.
struct LayerAdvice {
  std::string layer;
  std::int64_t step = 0;  ///< of the measurement: the last of the run
  bool has_bias = false;  ///< it trains a post-gating bias b
  /// The three ratios below are of steps of gradient descent to learn 90 %; else of κ.
  bool in_steps = false;
  /// Those steps, of W_d's own problem, with the bias where there is one.
  std::optional<store::Scalar> steps{};
  std::string cause;  ///< why `mean_costs` is missing; empty where it is not
  /// Σ+μμᵀ over Σ: without a bias, over what is left for W_d where a bias takes the mean up.
  std::optional<MeasuredRatio> mean_costs{};
  /// Σ+(μ+b)(μ+b)ᵀ over Σ: what the bias has left of it.
  std::optional<MeasuredRatio> bias_leaves{};
  /// Σ+(μ+b)(μ+b)ᵀ over Σ+μμᵀ: what the bias makes of what there would be without it.
  std::optional<MeasuredRatio> bias_changes{};
  /// Variance of the gradient of W_d with b = -μ, and with the best b, over that with b = 0, at the
  /// same masks and gradients of the output.
  std::optional<MeasuredRatio> variance_at_minus_mean{}, variance_at_best{};
  std::string verdict;  ///< a sentence
};

/// One thing to try, as parts of a sentence.
struct Suggestion {
  std::string what;      ///< precision, rate, warm-up, batch, norm or bias
  std::string evidence;  ///< the numbers behind it, with their step
  std::string attempt;   ///< what to try
  std::string success;   ///< how one would know that it worked
  std::string unknown;   ///< what these numbers cannot know
};

/// "Rate: EVIDENCE; try ATTEMPT; it worked where SUCCESS; not known: UNKNOWN."
std::string to_text(const Suggestion& suggestion);

struct Advice {
  /// What the numbers of the run ask for, the most urgent first: five at most, perhaps none.
  std::vector<Suggestion> suggestions;
  std::vector<LayerAdvice> layers;
  /// What the theory does not promise, a sentence each, with the claim in theory/LEDGER.md.
  std::vector<std::string> limits;
};

/// From what a run measured last, and the spikes of its loss. Throws Error when the run cannot be
/// read or no layer of it was measured.
Advice advice(const std::filesystem::path& run);

std::string to_text(const Advice& advice);
/// {"suggestions": [{"what", "evidence", "attempt", "success", "unknown"}, ...],
/// "layers": [{"layer": ..., "step": ..., "mean_costs": {"value", "lower", "upper", "paired",
/// "step"} or null, ...}], "limits": [...]}.
/// With "run" before them where it is named.
std::string to_json(const Advice& advice, const std::string& run = "");

}  // namespace kappascope::reports
