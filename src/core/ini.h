// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace kappascope {

/// Settings of a run as text, name and value: {"train.batch", "128"}. A name may occur more than
/// once; the last counts. What the names mean is known to whoever trains the run.
using IniSettings = std::vector<std::pair<std::string, std::string>>;

/// "train.batch=128" as a setting. Throws UsageError, beginning with `where`, for other text.
IniSettings::value_type parse_setting(const std::string& text, const std::string& where);

/// Reads an INI file: `name = value` under `[section]` is the setting section.name; '#', and ';' at
/// the begin of a line or after a blank, begin a comment. A value in quotation marks, "..." or
/// '...', is what stands between them. A byte-order mark is passed over. Throws UsageError,
/// beginning with `where`, for a line that is none of these.
IniSettings parse_ini(const std::string& text, const std::string& where);

/// parse_ini of a file. Throws UsageError, which calls the file a `kind` ("study"), where it cannot
/// be opened.
IniSettings read_ini(const std::filesystem::path& file, const std::string& kind);

/// The same as an INI file, of each name the last value: what parse_ini reads back. Throws
/// UsageError for a value with a line break, or with '#' and both quotation marks, which the format
/// cannot hold.
std::string to_ini(const IniSettings& settings);

/// The first line in which two INI files differ, as "'batch = 1' there, 'batch = 2' now"; empty
/// where they do not.
std::string first_difference(const std::string& stored, const std::string& wanted);

}  // namespace kappascope
