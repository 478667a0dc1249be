// SPDX-License-Identifier: Apache-2.0
#include "store/run_stamp.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "store/database/database.h"
#include "store/database/writer_lock.h"

namespace fs = std::filesystem;

namespace kappascope::store {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;  // in nanoseconds
constexpr std::int64_t kTick = kSecond;          // of the coarsest file system in use

std::int64_t nanoseconds(const struct timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * kSecond + time.tv_nsec;
}

struct FileStamp {
  std::int64_t id = 0, size = 0, written = 0;
};

/// Zeros where there is none, or nothing in it: a reader makes an empty log for a moment.
FileStamp stamp_of_file(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0 || status.st_size == 0) return {};
  return {static_cast<std::int64_t>(status.st_ino),
          static_cast<std::int64_t>(status.st_size),
          nanoseconds(status.st_mtim)};
}

}  // namespace

RunStamp stamp_of(const fs::path& dir) {
  const fs::path file = database_file(dir);
  const auto database = stamp_of_file(file);
  const auto log = stamp_of_file(file.string() + "-wal");
  struct timespec now {};
  clock_gettime(CLOCK_REALTIME, &now);
  const auto age = nanoseconds(now) - std::max(database.written, log.written);
  return {database.id,
          {database.size, database.written, log.id, log.size, log.written},
          std::abs(age) > kTick};
}

bool is_being_written(const fs::path& dir) {
  return WriterLock::held(dir);
}

}  // namespace kappascope::store
