// SPDX-License-Identifier: Apache-2.0
// Runs of schema version 1, which had no attributes: texts stood in `status`, and that a probe had
// no budget was to be read from the text of the configuration.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

namespace kappascope::store {

/// SQL expressions over a row of a version 1 `scalars`: what version 2 keeps in these columns.
extern const char* const kStatusFromVersion1;
extern const char* const kAttributesFromVersion1;

/// Makes version 2 of a version 1 database, in one transaction. Numbers stay as they are.
void migrate_version1(SQLite::Database& sql);

}  // namespace kappascope::store
