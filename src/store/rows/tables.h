// SPDX-License-Identifier: Apache-2.0
// The tables of a run, as SQL.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>

namespace kappascope::store {

/// Makes those of the newest schema version.
void make_tables(SQLite::Database& sql);
void make_table(SQLite::Database& sql, const std::string& name);

/// A table that is not there as this program makes it, or does not look for its rows as it counts
/// on: without its key a search passes over all rows. Empty: there is none. What else the database
/// holds does not matter.
std::string strange_table(SQLite::Database& sql, int schema_version);

}  // namespace kappascope::store
