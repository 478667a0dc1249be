// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace kappascope::store {

/// Writes a file that is there whole or not at all, whatever ends the process and even the power:
/// `write` fills a file under a temporary name in the same directory ("FILE.partial"), which is
/// then flushed to the disk and renamed to `file`. Readers see the old file or the new one.
///
/// When `write` throws, or the disk is full, the old file stays, the temporary one is removed and
/// the error is passed on (a system error as kappascope::Error with path and cause). A killed
/// process leaves FILE.partial, which the next write replaces. One writer per file at a time. Cost:
/// the writing and two flushes.
void write_atomically(const std::filesystem::path& file,
                      const std::function<void(const std::filesystem::path& temporary)>& write);

/// The same with a text.
void write_text_atomically(const std::filesystem::path& file, const std::string& text);

}  // namespace kappascope::store
