// SPDX-License-Identifier: Apache-2.0
// Connections to a database file that may be a stranger's, on a file system that may be poor.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>

namespace kappascope::store {

/// A connection that runs nothing of what stands in the file's schema, follows no link in the place
/// of the database, its journal, its log or their index, writes to none of them that has a second
/// name, and rolls back no journal that names another file: an Error. A reader, not `to_write`,
/// writes too where a journal or a log has to be taken over.
SQLite::Database connect(const std::filesystem::path& file, bool to_write);

/// Whether SQLite could not have the memory that the readers and the writer of a write-ahead log
/// share: some file systems have none, and in a directory that may not be written there is no place
/// for it.
bool cannot_share(const SQLite::Exception& exception);

/// A reader without that memory. Without a log nobody is writing, and the file alone is the run;
/// with one that is not empty it throws `exception`.
SQLite::Database connect_to_read_alone(const std::filesystem::path& file,
                                       const SQLite::Exception& exception);

/// Gives a file a rollback journal in the place of its log, without that memory; what stands in the
/// log is taken over. Nobody else may have the file open.
void leave_log(const std::filesystem::path& file);

}  // namespace kappascope::store
