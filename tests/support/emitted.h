// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "kappascope/store/run.h"

namespace kappascope::testing {

inline std::vector<double> values(const store::RunReader& run, const store::SeriesKey& key) {
  std::vector<double> out;
  for (const auto& row : run.scalars(key)) out.push_back(row.scalar.value);
  return out;
}

/// The rows of the schema by one of these emitters of which the run holds no series.
inline std::vector<std::string> not_emitted(const store::RunReader& run,
                                            const std::set<store::Emitter>& emitters) {
  std::set<const store::SeriesInfo*> there;
  for (const auto& key : run.series()) there.insert(store::find_series(key.name));
  for (const auto& key : run.array_series()) there.insert(store::find_series(key.name, true));
  std::vector<std::string> missing;
  for (const auto& info : store::schema()) {
    if (emitters.contains(info.emitter) && !there.contains(&info)) missing.push_back(info.name);
  }
  return missing;
}

}  // namespace kappascope::testing
