// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/writer_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "kappascope/core/place.h"
#include "kappascope/core/require.h"

namespace fs = std::filesystem;

namespace kappascope::store {
namespace {

fs::path lock_file(const fs::path& dir) {
  return dir / WriterLock::kName;
}

struct flock whole_file() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::string this_process() {
  return fmt::format("process {} on {}", getpid(), host_name());
}

std::string read_holder(int descriptor) {
  std::array<char, 512> text{};
  const ssize_t size = pread(descriptor, text.data(), text.size() - 1, 0);
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "another process";
}

}  // namespace

WriterLock::WriterLock(const fs::path& dir, std::string_view what) {
  const std::string file = lock_file(dir).string();
  descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  require(descriptor_ >= 0,
          "cannot write the {} {}: {} (writer.lock); check the permissions, or choose another "
          "directory",
          what,
          dir.string(),
          std::strerror(errno));
  struct flock lock = whole_file();
  if (fcntl(descriptor_, F_OFD_SETLK, &lock) != 0) {
    const int error = errno;
    const std::string holder = read_holder(descriptor_);
    ::close(descriptor_);
    require(error != EAGAIN && error != EACCES,
            "cannot write the {} {}: it is being written by {}; wait for it to end, or choose "
            "another directory",
            what,
            dir.string(),
            holder);
    throw Error(fmt::format(
        "cannot lock {}: {}; put the run on a file system with locks", file, std::strerror(error)));
  }
  // Only for the message above, so a failure to write it costs nothing else.
  const std::string self = this_process();
  if (ftruncate(descriptor_, 0) != 0 || pwrite(descriptor_, self.data(), self.size(), 0) < 0)
    return;
}

WriterLock::~WriterLock() {
  ::close(descriptor_);
}

bool WriterLock::held(const fs::path& dir) {
  const int descriptor = ::open(lock_file(dir).c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  struct flock lock = whole_file();
  const bool asked = fcntl(descriptor, F_OFD_GETLK, &lock) == 0;
  ::close(descriptor);
  return asked && lock.l_type != F_UNLCK;
}

}  // namespace kappascope::store
