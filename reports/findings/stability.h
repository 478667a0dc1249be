// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/number_format.h"
#include "reports/runs/arms.h"

namespace kappascope::reports {

/// The learning rate that was in force at `step`: the last one stored at or before it; 0 without.
double rate_at(const Arm& arm, std::int64_t step);

/// The sharpness of a whole training against what it must stay below.
struct Stability {
  struct Reading {
    std::int64_t step = 0;
    const store::Scalar* lambda = nullptr;
    double limit = 0;

    [[nodiscard]] double share() const { return lambda->value / limit; }
    /// a: λ1, b: the limit, relation: the share in percent.
    [[nodiscard]] Compared in_words() const { return as_share(lambda->value, limit); }
    /// Above the limit with its whole interval.
    [[nodiscard]] bool is_above() const { return lambda->lower.value_or(lambda->value) > limit; }
  };
  /// By step, where λ1 is resolved and has a limit.
  std::vector<Reading> readings{};
  /// λ1 is that of P^(-1/2) H P^(-1/2), and the limit the optimiser's. Else those of plain gradient
  /// descent: λ1 of the Hessian, and 2/rate.
  bool own = false;
  bool holds = false;      ///< λ1 is what this optimiser sees, and the limit its own
  std::string coverage{};  ///< when it was measured, when not, and the schedule; empty without any

  /// The reading with the largest share; there must be one.
  [[nodiscard]] const Reading& most() const;
  /// Whether the optimiser's limit was passed at a step that was measured: the loss may still fall
  /// there, at the edge of stability.
  [[nodiscard]] bool is_at_limit() const;
};

/// By the optimiser's own limit where it was measured.
Stability stability_of(const Arm& arm);
/// By the limit of plain gradient descent.
Stability descent_stability_of(const Arm& arm);

}  // namespace kappascope::reports
