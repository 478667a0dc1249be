// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "core/own_files.h"

namespace kappascope::store {

/// The right to write the run, or the study, in a directory: a lock of the kernel on
/// DIR/writer.lock, which ends with the process however that dies. The file stays, as removing it
/// would race.
///
/// It is an open-file-description lock (as flock takes, through fcntl) because only that can be
/// asked for without taking it: a reader that looks never gets in a writer's way. A process that is
/// forked from the one that has it does not share it, and may outlive that.
class WriterLock {
 public:
  static constexpr const char* kName = "writer.lock";

  /// Throws Error, naming the process that has it, when the lock is taken, and where the file is
  /// a link or no file of the folder alone. `what`: is written there.
  explicit WriterLock(const std::filesystem::path& dir, std::string_view what = "run");
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;
  ~WriterLock();

  /// Whether some process writes the run in `dir` now; false where that cannot be known.
  static bool held(const std::filesystem::path& dir);

 private:
  Descriptor file_;
};

}  // namespace kappascope::store
