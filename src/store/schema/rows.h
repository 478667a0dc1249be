// SPDX-License-Identifier: Apache-2.0
// The rows of the schema, part by part, in the order in which the documentation prints them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kappascope/store/schema/schema.h"

namespace kappascope::store {

inline constexpr StatusSet kNumber{Status::kOk, Status::kNonFinite};

/// What the rows of one emitter have in common.
struct Group {
  Emitter emitter{};
  Scope scope{};
  StatusSet statuses;
  Provenance known{};
};

/// What one of them has of its own.
struct Own {
  std::string name;
  std::string_view unit, meaning;
  unsigned read_by = kStoreOnly;
  std::string_view why_only_stored{};
};

void add(const Group& group, const std::vector<Own>& rows, std::vector<SeriesInfo>& out);

std::vector<SeriesInfo> rows_of_runs();     ///< what training and its probes write
std::vector<SeriesInfo> rows_of_spectra();  ///< what `kappascope spectrum` writes

}  // namespace kappascope::store
