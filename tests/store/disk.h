// SPDX-License-Identifier: Apache-2.0
// The disk under SQLite, in the hands of a test.
#pragma once

#include <sqlite3.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace kappascope::store::test {

/// As long as it lives, every call that SQLite makes on a file is shown to the test, which can make
/// it fail. One at a time; what is opened under it must be closed before it ends.
class Disk {
 public:
  enum class Call { kRead, kWrite, kSync, kShare };
  struct Asked {
    Call call;
    std::filesystem::path file;
    sqlite3_int64 offset = 0;  ///< of a read or write
  };
  /// SQLITE_OK lets the call go on; any other code is its result.
  using Answer = std::function<int(const Asked&)>;

  explicit Disk(Answer answer) : vfs_(*sqlite3_vfs_find(nullptr)) {
    system_ = sqlite3_vfs_find(nullptr);
    answer_ = std::move(answer);
    vfs_.zName = "a disk in the hands of a test";
    vfs_.szOsFile += static_cast<int>(sizeof(Behind));
    vfs_.xOpen = open;
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~Disk() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(system_, 1);
  }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  /// From now on.
  static void answer(Answer answer) { answer_ = std::move(answer); }

 private:
  /// The system's file with two words behind it, and our calls in the place of the system's.
  struct Behind {
    const sqlite3_io_methods* system;
    const char* name;
  };

  static Behind& behind(sqlite3_file* file) {
    return *reinterpret_cast<Behind*>(reinterpret_cast<char*>(file) + system_->szOsFile);
  }

  static int ask(Call call, sqlite3_file* file, sqlite3_int64 offset) {
    const auto* name = behind(file).name;
    return answer_({call, name == nullptr ? "" : name, offset});
  }

  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* opened) {
    const int code = system_->xOpen(system_, name, file, flags, opened);
    if (file->pMethods == nullptr) return code;
    behind(file) = {file->pMethods, name};
    // SQLite's own differ by kind of file: a database can be locked, a log cannot.
    auto& methods = methods_[file->pMethods];
    methods = *file->pMethods;
    methods.xRead = [](sqlite3_file* f, void* to, int size, sqlite3_int64 offset) {
      const int asked = ask(Call::kRead, f, offset);
      return asked != SQLITE_OK ? asked : behind(f).system->xRead(f, to, size, offset);
    };
    methods.xWrite = [](sqlite3_file* f, const void* from, int size, sqlite3_int64 offset) {
      const int asked = ask(Call::kWrite, f, offset);
      return asked != SQLITE_OK ? asked : behind(f).system->xWrite(f, from, size, offset);
    };
    methods.xSync = [](sqlite3_file* f, int how) {
      const int asked = ask(Call::kSync, f, 0);
      return asked != SQLITE_OK ? asked : behind(f).system->xSync(f, how);
    };
    methods.xShmMap = [](sqlite3_file* f, int page, int size, int extend, volatile void** at) {
      const int asked = ask(Call::kShare, f, 0);
      return asked != SQLITE_OK ? asked : behind(f).system->xShmMap(f, page, size, extend, at);
    };
    file->pMethods = &methods;
    return code;
  }

  inline static sqlite3_vfs* system_ = nullptr;
  inline static std::map<const sqlite3_io_methods*, sqlite3_io_methods> methods_;
  inline static Answer answer_;
  sqlite3_vfs vfs_;
};

}  // namespace kappascope::store::test
