// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "kappascope/store/run.h"

namespace kappascope::probes {

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

}  // namespace kappascope::probes
