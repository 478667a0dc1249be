// SPDX-License-Identifier: Apache-2.0
#include "store/database/writer_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "core/own_files.h"
#include "core/place.h"
#include "core/require.h"

namespace fs = std::filesystem;

namespace kappascope::store {
namespace {

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

/// The descriptors of the locks that this process holds. Such a lock belongs to the open file,
/// which a forked process shares: there, another file takes the descriptor's place.
class Held {
 public:
  static Held& all() {
    static auto* held = new Held;  // never destroyed: a fork may come at any time
    return *held;
  }
  void add(int descriptor) {
    const std::lock_guard lock(mutex_);
    descriptors_.push_back(descriptor);
  }
  void remove(int descriptor) {
    const std::lock_guard lock(mutex_);
    std::erase(descriptors_, descriptor);
  }

 private:
  Held() {
    pthread_atfork([] { all().mutex_.lock(); },
                   [] { all().mutex_.unlock(); },
                   [] {
                     all().let_go();
                     all().mutex_.unlock();
                   });
  }
  void let_go() {
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (const int descriptor : descriptors_) dup3(nothing, descriptor, O_CLOEXEC);
    close(nothing);
    descriptors_.clear();
  }

  std::mutex mutex_;
  std::vector<int> descriptors_;
};

}  // namespace

WriterLock::WriterLock(const fs::path& dir, std::string_view what)
    : file_(open_own_file(dir, kName, O_RDWR | O_CREAT)) {
  require(file_.get() >= 0,
          "cannot write the {} {}: {} (writer.lock); check the permissions, or choose another "
          "directory",
          what,
          dir.string(),
          std::strerror(errno));
  struct flock lock = whole_file();
  if (fcntl(file_.get(), F_OFD_SETLK, &lock) != 0) {
    const int error = errno;
    require(error != EAGAIN && error != EACCES,
            "cannot write the {} {}: it is being written by {}; wait for it to end, or choose "
            "another directory",
            what,
            dir.string(),
            read_holder(file_.get()));
    throw Error(fmt::format("cannot lock {}: {}; put the run on a file system with locks",
                            (dir / kName).string(),
                            std::strerror(error)));
  }
  Held::all().add(file_.get());
  // Only for the message above, so a failure to write it costs nothing else.
  const std::string self = this_process();
  if (ftruncate(file_.get(), 0) != 0 || pwrite(file_.get(), self.data(), self.size(), 0) < 0)
    return;
}

WriterLock::~WriterLock() {
  Held::all().remove(file_.get());
}

bool WriterLock::held(const fs::path& dir) {
  try {
    const auto file = open_own_file(dir, kName, O_RDONLY);
    struct flock lock = whole_file();
    return file.get() >= 0 && fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  } catch (const Error&) {
    return false;  // a link or a pipe is nobody's lock
  }
}

}  // namespace kappascope::store
