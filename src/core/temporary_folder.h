// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace kappascope {

/// A new empty folder in the system's folder for temporary files. The destructor removes it with
/// its contents.
class TemporaryFolder {
 public:
  /// Throws kappascope::Error when the folder cannot be created.
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
