// SPDX-License-Identifier: Apache-2.0
// NumPy's container of named arrays: a zip archive of .npy files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace kappascope::store {

class Npz {
 public:
  void add(const std::string& name,
           const std::vector<std::int64_t>& shape,
           const std::vector<double>& numbers);
  void add(const std::string& name, const std::vector<std::int64_t>& integers);
  /// A vector of byte strings of one width, padded with zeros (NumPy's dtype S).
  void add(const std::string& name, const std::vector<std::string>& texts);

  /// Compressed; the same members give the same bytes. An archive without members is not a file
  /// to NumPy, so an empty one gets a member "empty". Throws kappascope::Error.
  void write(const std::filesystem::path& file) const;

 private:
  std::vector<std::pair<std::string, std::string>> members_;  // file name, content
};

}  // namespace kappascope::store
