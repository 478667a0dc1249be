// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kappascope/store/schema/schema.h"

namespace kappascope::testing {

/// The status of a number of this series with which nothing is wrong.
inline store::Status good_status(const std::string& name) {
  const auto* info = store::find_series(name);
  for (const store::Status status :
       {store::Status::kOk, store::Status::kResolved, store::Status::kConverged}) {
    if (info != nullptr && info->statuses.contains(status)) return status;
  }
  return store::Status::kOk;
}

}  // namespace kappascope::testing
