// SPDX-License-Identifier: Apache-2.0
// The half minute within which what is committed reaches the disk, on a clock that the test sets.
#include <string>

#include "store/disk.h"
#include "store/fixture.h"
#include "support/catch.h"

using namespace kappascope::store;
using namespace kappascope::store::test;
namespace fs = std::filesystem;

namespace {

/// Each flush of a run's log copies the run to `image`: what a power cut would leave from then on,
/// if it took all that was not flushed.
class Image {
 public:
  explicit Image(const fs::path& image)
      : image_(image), disk_([this](const Disk::Asked& asked) { return look(asked); }) {
    fs::create_directories(image);
  }
  [[nodiscard]] int flushes() const { return flushes_; }
  [[nodiscard]] std::int64_t last_step() const { return RunReader(image_).last_step(); }

 private:
  int look(const Disk::Asked& asked) {
    const bool flushed = asked.call == Disk::Call::kSync && asked.file.extension() == ".sqlite-wal";
    if (!flushed || asked.file.parent_path() == image_) return SQLITE_OK;
    ++flushes_;
    for (const auto* name : {"run.sqlite", "run.sqlite-wal"}) {
      fs::copy_file(
          asked.file.parent_path() / name, image_ / name, fs::copy_options::overwrite_existing);
    }
    return SQLITE_OK;
  }

  fs::path image_;
  int flushes_ = 0;
  Disk disk_;
};

constexpr double kHalfMinute = 30;

}  // namespace

TEST_CASE("a snapshot is on the disk half a minute after it was written, while others follow") {
  const TemporaryFolder scratch;
  const Image disk(scratch / "image");
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
  const Image disk(scratch / "image");
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
