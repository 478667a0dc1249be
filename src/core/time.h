// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kappascope {

/// Now, in UTC, as ISO 8601 to the second: 2026-01-31T12:00:00Z.
std::string utc_now();

/// A duration for people: "0.4 s", "12 s", "3 min 05 s", "2 h 10 min". Negative or non-finite
/// input reads "?".
std::string format_seconds(double seconds);

/// Seconds on a clock that never goes back; only differences mean anything.
double monotonic_seconds();

}  // namespace kappascope
