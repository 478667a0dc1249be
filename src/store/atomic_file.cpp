// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "kappascope/core/require.h"

namespace fs = std::filesystem;

namespace kappascope::store {
namespace {

/// Flushes a file or, so that a rename lasts, a directory.
void flush(const fs::path& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC);
  require(descriptor >= 0, "cannot open {}: {}", path.string(), std::strerror(errno));
  const int result = ::fsync(descriptor);
  const int error = errno;
  ::close(descriptor);
  // Some file systems cannot flush a directory, and say so with EINVAL; theirs lasts anyway.
  require(result == 0 || error == EINVAL,
          "cannot write {} to the disk: {}",
          path.string(),
          std::strerror(error));
}

}  // namespace

void write_atomically(const fs::path& file, const std::function<void(const fs::path&)>& write) {
  const fs::path temporary = file.string() + ".partial";
  const fs::path directory = file.has_parent_path() ? file.parent_path() : fs::path(".");
  std::error_code error;
  require(fs::is_directory(directory, error),
          "cannot write {}: there is no directory {}",
          file.string(),
          directory.string());
  try {
    write(temporary);
    flush(temporary, O_RDONLY);
    fs::rename(temporary, file, error);
    require(!error, "cannot write {}: {}", file.string(), error.message());
  } catch (...) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
  flush(directory, O_RDONLY | O_DIRECTORY);
}

void write_text_atomically(const fs::path& file, const std::string& text) {
  write_atomically(file, [&](const fs::path& temporary) {
    std::ofstream out(temporary, std::ios::binary);
    out << text;
    out.close();
    require(out.good(), "cannot write {}", file.string());
  });
}

}  // namespace kappascope::store
