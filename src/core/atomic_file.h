// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace kappascope {

/// Writes a file that is there whole or not at all, whatever ends the process and even the power:
/// `write` fills a new file in the same directory (its name is random, and no link is followed),
/// which is then flushed to the disk and renamed to `file`. Readers see the old file or the new
/// one.
///
/// When `write` throws, or the disk is full, the old file stays, the new one is removed and the
/// error is passed on (a system error as kappascope::Error with path and cause). A process that is
/// killed leaves `.FILE.RANDOM.partial`, which the next write of FILE removes. A link, a device or
/// a directory called `file` is not replaced: that is an Error. Cost: the writing and two flushes.
void write_atomically(const std::filesystem::path& file,
                      const std::function<void(const std::filesystem::path& temporary)>& write);

/// The same with a text.
void write_text_atomically(const std::filesystem::path& file, const std::string& text);

/// Removes what killed processes have left of files in `directory` whose names begin with `start`,
/// which may never be written again.
void remove_leftovers(const std::filesystem::path& directory, std::string_view start);

/// Makes `dir` and what is missing above it, each name flushed to the disk: what is written durably
/// below would be lost with it. Throws Error with the path and the cause.
void make_directories(const std::filesystem::path& dir);

/// Renames a file that has been flushed, and flushes the directory: after a power cut it has the
/// new name. Throws Error with the path and the cause.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

/// Puts the directory `made`, whose files have been flushed, in the place of `dir`, which is
/// removed. Where the file system can exchange two names (most on Linux) there is always one of the
/// two.
void replace_directory(const std::filesystem::path& made, const std::filesystem::path& dir);

/// Throws Error where `file` is in the way of an output: it is no regular file, or none in whose
/// first 4,096 bytes stands `mark`, by which outputs of that kind are known. `force` lets any
/// regular file be replaced, but no SQLite database. To be asked before the work, so that none is
/// lost.
void require_replaceable(const std::filesystem::path& file, std::string_view mark, bool force);

}  // namespace kappascope
