// SPDX-License-Identifier: Apache-2.0
// The half minute within which what is committed reaches the disk, on a clock that the test sets.
#include <sqlite3.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "store/fixture.h"
#include "support/catch.h"

using namespace kappascope::store;
using namespace kappascope::store::test;
namespace fs = std::filesystem;

namespace {

/// As long as it lives, each flush of a run's log copies the run to `image`: what a power cut would
/// leave from then on, if it took all that was not flushed.
class Disk {
 public:
  explicit Disk(const fs::path& image) : vfs_(*sqlite3_vfs_find(nullptr)) {
    system_ = sqlite3_vfs_find(nullptr);
    image_ = image;
    flushes_ = 0;
    vfs_.zName = "a disk that is watched";
    vfs_.xOpen = open;
    sqlite3_vfs_register(&vfs_, 1);
  }
  ~Disk() {
    sqlite3_vfs_unregister(&vfs_);
    sqlite3_vfs_register(system_, 1);
  }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  [[nodiscard]] int flushes() const { return flushes_; }
  [[nodiscard]] std::int64_t last_step() const { return RunReader(image_).last_step(); }

 private:
  static int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* opened) {
    const int code = system_->xOpen(system_, name, file, flags, opened);
    const bool other = fs::path(name == nullptr ? "" : name).parent_path() == image_;
    if (code != SQLITE_OK || (flags & SQLITE_OPEN_WAL) == 0 || other) return code;
    log_ = name;
    flush_ = file->pMethods->xSync;
    methods_ = *file->pMethods;
    methods_.xSync = flush;
    file->pMethods = &methods_;
    return code;
  }

  static int flush(sqlite3_file* file, int flags) {
    const int code = flush_(file, flags);
    if (code != SQLITE_OK) return code;
    ++flushes_;
    fs::create_directories(image_);
    for (const auto* ending : {"", "-wal"}) {
      const fs::path from = log_.substr(0, log_.size() - std::string_view("-wal").size()) + ending;
      fs::copy_file(from, image_ / from.filename(), fs::copy_options::overwrite_existing);
    }
    return code;
  }

  inline static sqlite3_vfs* system_ = nullptr;
  inline static sqlite3_io_methods methods_{};
  inline static int (*flush_)(sqlite3_file*, int) = nullptr;
  inline static std::string log_;
  inline static fs::path image_;
  inline static int flushes_ = 0;
  sqlite3_vfs vfs_;
};

constexpr double kHalfMinute = 30;

}  // namespace

TEST_CASE("a snapshot is on the disk half a minute after it was written, while others follow") {
  const TemporaryFolder scratch;
  const Disk disk(scratch / "image");
  double now = 1000;
  auto writer = RunWriter::create(scratch / "run", {{"seed", "7"}});
  if (RunReader(scratch / "run").fact("journal_mode") != "wal") {
    WARN("not tried: this file system has no write-ahead log, and each commit is flushed");
    return;
  }
  writer.use_clock([&now] { return now; });
  const int before = disk.flushes();
  CHECK(disk.last_step() == -1);
  constexpr std::int64_t kSteps = 100;  // a second each
  for (std::int64_t step = 0; step < kSteps; ++step) {
    CAPTURE(step);
    now = 1000 + static_cast<double>(step);
    writer.write(snapshot(step));
    const auto oldest_not_there = static_cast<double>(disk.last_step() + 1);
    CHECK(static_cast<double>(step) - oldest_not_there <= kHalfMinute);
    if (now - 1000 <= kHalfMinute) CHECK(disk.last_step() == -1);  // a flush a commit would be dear
  }
  CHECK(disk.flushes() == before + 3);  // after 31, 62 and 93 seconds
  CHECK(disk.last_step() == 93);
}

TEST_CASE("the first commit after a silence reaches the disk with all that came before it") {
  const TemporaryFolder scratch;
  const Disk disk(scratch / "image");
  double now = 0;
  auto writer = RunWriter::create(scratch / "run", {{"seed", "7"}});
  if (RunReader(scratch / "run").fact("journal_mode") != "wal") return;
  writer.use_clock([&now] { return now; });
  writer.write(snapshot(0));
  now = 3600;
  writer.set_fact("note", "after an hour");
  CHECK(disk.last_step() == 0);
  CHECK(RunReader(scratch / "image").fact("note") == "after an hour");

  // What asks for a flush has it at once, and the half minute begins anew.
  now += 29;
  writer.write(snapshot(1));
  writer.make_durable();
  CHECK(disk.last_step() == 1);
  now += kHalfMinute;
  writer.write_verdict({"P-L2", "holds", "", "{}"});
  CHECK(RunReader(scratch / "image").verdicts().empty());
  writer.set_state("finished");
  CHECK(RunReader(scratch / "image").fact("state") == "finished");
  CHECK(RunReader(scratch / "image").verdicts().size() == 1);
}
