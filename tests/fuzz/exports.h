// SPDX-License-Identifier: Apache-2.0
// What holds of every export of a run.
#pragma once

#include <zip.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "fuzz/fuzz.h"

namespace kappascope::fuzz {

/// A table by RFC 4180 of ten columns and so many rows below its head; no cell is a formula.
inline void check_csv(const std::string& csv, std::size_t rows) {
  constexpr std::size_t kColumns = 10;
  std::size_t lines = 0, cells = 0;
  for (std::size_t at = 0; at < csv.size();) {
    expect(std::string_view("=+-@\t\r").find(csv[at]) == std::string_view::npos ||
               csv[at] == '\r' ||
               (csv[at] == '-' && csv.find_first_not_of("-0123456789.einf+", at) != at + 1),
           "a cell is no formula");
    if (csv[at] == '"') {
      expect(at + 1 >= csv.size() ||
                 std::string_view("=+-@\t").find(csv[at + 1]) == std::string_view::npos,
             "a quoted cell is no formula");
      for (++at; at < csv.size() && (csv[at] != '"' || csv.substr(at, 2) == "\"\""); ++at)
        if (csv[at] == '"') ++at;
      expect(at < csv.size(), "a quoted cell ends");
      ++at;
    } else {
      at = std::min(csv.find_first_of(",\r\n\"", at), csv.size());
    }
    ++cells;
    expect(at < csv.size(), "the last line ends");
    if (csv[at] == ',') {
      ++at;
      continue;
    }
    expect(csv.compare(at, 2, "\r\n") == 0, "a line ends with CR LF");
    at += 2;
    expect(cells == kColumns, "a row has its columns");
    cells = 0;
    ++lines;
  }
  expect(lines == rows + 1, "a scalar is a row");
}

inline void check_jsonl(const std::string& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = text.find('\n', begin);
    expect(end != text.npos, "the last line ends");
    const auto json = nlohmann::json::parse(text.substr(begin, end - begin), nullptr, false);
    expect(json.is_object() && json.contains("type"), "a line is an object with a type");
    begin = end + 1;
  }
}

/// Names of members lead nowhere else, and each is a whole NPY file.
inline void check_npz(const std::filesystem::path& file) {
  zip_t* archive = zip_open(file.c_str(), ZIP_RDONLY, nullptr);
  expect(archive != nullptr, "the archive opens");
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    const std::string name = zip_get_name(archive, index, ZIP_FL_ENC_RAW);
    expect(!name.empty() && name.front() != '/' && name.find('\\') == name.npos &&
               ("/" + name).find("/../") == std::string::npos,
           "a member lies in the archive");
    zip_stat_t status{};
    expect(zip_stat_index(archive, index, 0, &status) == 0 && status.size >= 10, "a member opens");
    std::string bytes(status.size, '\0');
    zip_file_t* member = zip_fopen_index(archive, index, 0);
    expect(zip_fread(member, bytes.data(), bytes.size()) == static_cast<zip_int64_t>(bytes.size()),
           "a member can be read");
    zip_fclose(member);
    std::uint16_t length = 0;
    std::memcpy(&length, bytes.data() + 8, sizeof length);
    expect(bytes.starts_with("\x93NUMPY") && bytes.size() >= 10U + length &&
               bytes[9U + length] == '\n' && bytes.find("'shape': (") < length,
           "a member begins with the header of its numbers");
  }
  zip_discard(archive);
}

}  // namespace kappascope::fuzz
