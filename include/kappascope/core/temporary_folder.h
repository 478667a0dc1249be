// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace kappascope {

/// A new empty folder in the system's place for temporary files; it goes away, with what is in it,
/// when the object does.
class TemporaryFolder {
 public:
  /// Throws kappascope::Error when it cannot be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::filesystem::path& inside) const {
    return path_ / inside;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace kappascope
