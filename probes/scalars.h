// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "kappascope/linalg/features/kappa.h"
#include "kappascope/store/run.h"

namespace kappascope::probes {

/// The status under which the store keeps an estimator's outcome: that of its name.
template <typename Outcome>
store::Status stored_status(Outcome outcome) {
  return store::Status::parse(to_string(outcome));
}

/// Adds one number of one layer to a snapshot; a value that is not finite says so in its status.
inline void add_scalar(store::Snapshot& out,
                       std::string name,
                       const std::string& layer,
                       double value,
                       std::optional<double> lower = {},
                       std::optional<double> upper = {}) {
  store::Scalar scalar;
  scalar.name = std::move(name);
  scalar.layer = layer;
  scalar.value = value;
  scalar.lower = lower;
  scalar.upper = upper;
  if (!(value - value == 0)) scalar.status = store::Status::kNonFinite;
  out.scalars.push_back(std::move(scalar));
}

/// Adds a quotient with its interval, where there is one.
inline void add_ratio(store::Snapshot& out,
                      const std::string& name,
                      const std::string& layer,
                      const linalg::PairedRatio& ratio) {
  if (std::isnan(ratio.value)) return;
  if (std::isnan(ratio.lower)) {
    add_scalar(out, name, layer, ratio.value);
  } else {
    add_scalar(out, name, layer, ratio.value, ratio.lower, ratio.upper);
  }
}

}  // namespace kappascope::probes
