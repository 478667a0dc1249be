// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "reports/diagnosis/questions.h"
#include "reports/number_format.h"

namespace kappascope::reports {

// What several surfaces say of one number.

/// a: λ1, b: the limit, relation: the share in percent.
Compared in_words(const Stability::Reading& reading);
/// "12 %", "none", "not resolved".
std::string in_words(const Absorbed& absorbed);
/// "95 %: 3–4× (in pairs of rows, step 10)."
std::string certainty_of(const Ratio& ratio);
/// "45" where it is resolved, else "at least 33"; "undefined" of features that are all alike.
std::string steps_in_words(const store::Scalar& steps);
/// How far the last test loss of `arm` is from that of `base`, by pairs of seeds, and whether that
/// is more than chance; empty below two pairs.
std::string loss_by_seed(const Arm& arm, const Arm& base);
/// "3 of 384": features that are zero in every row, of those that the layer has, where it is known.
std::string always_zero(const Arm& arm, const Evidence& dead);
/// When the sharpness was measured, when not, and the schedule; empty where it never was.
std::string coverage_of(const Arm& run, const Stability& stability);
/// A setting of the trainer's configuration, where the run stores one.
std::string setting_of(const Arm& arm, std::string_view name);
/// Why what was measured at `step` last decides nothing.
std::string too_early(const Arm& arm, std::int64_t step);

}  // namespace kappascope::reports
