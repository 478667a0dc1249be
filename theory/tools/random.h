// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace kappascope::theory {

/// Draws of the case generators. Integers do not go through std::uniform_int_distribution, whose
/// sequence the standard leaves open: one seed gives one list of cases everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// From low to high, both included.
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    const auto width = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(engine_() % width);
  }

  /// Like integer(), never zero.
  std::int64_t nonzero(std::int64_t low, std::int64_t high) {
    for (;;) {
      if (const auto value = integer(low, high); value != 0) return value;
    }
  }

  template <typename T>
  const T& pick(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(
        integer(0, static_cast<std::int64_t>(values.size()) - 1))];
  }

  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }  ///< in [0, 1)

 private:
  std::mt19937_64 engine_;
};

}  // namespace kappascope::theory
