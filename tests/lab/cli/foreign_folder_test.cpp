// SPDX-License-Identifier: Apache-2.0
// A study's folder from a stranger, whose files lead elsewhere.
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "kappascope/store/run_reader.h"
#include "support/catch.h"
#include "support/workplace.h"

using namespace kappascope;
using Catch::Matchers::Contains;
using kappascope::testing::slurp;
using kappascope::testing::Workplace;
using kappascope::testing::write_bytes;
namespace fs = std::filesystem;

namespace {

constexpr const char* kRun = "touch-stolen_seed-1";
constexpr const char* kStart = "# a shell's start\n";

/// A study of one run, whose label a shell would run, and a file elsewhere.
void write_study(const Workplace& work) {
  write_bytes(work.path() / "study.ini",
              "[data]\npath = data\n[model]\nwidth = 6\nhidden = 8\nblocks = 1\n"
              "[train]\nsteps = 2\nbatch = 32\nthreads = 1\n"
              "[probes]\nhessian = false\ngradient-variance = false\n"
              "[study]\nseeds = 1\nmetrics = loss/test\n"
              "[arms]\ntouch stolen = model.bias=none\n");
  write_bytes(work.path() / "profile", kStart);
  fs::create_directories(work.path() / "received");
}

}  // namespace

TEST_CASE("a sweep on somebody else's folder writes nothing outside it") {
  for (const std::string& name : {"logs/" + std::string(kRun) + ".txt",
                                  std::string("logs"),
                                  "settings/" + std::string(kRun) + ".ini",
                                  std::string("settings"),
                                  std::string(kRun),
                                  std::string("writer.lock")}) {
    for (const bool there : {true, false}) {
      CAPTURE(name, there);
      const Workplace work;
      write_study(work);
      const bool is_folder = name == "logs" || name == "settings" || name == kRun;
      const auto elsewhere = work.path() / (is_folder ? "elsewhere" : there ? "profile" : "absent");
      if (is_folder && there) fs::create_directory(elsewhere);
      const auto link = work.path() / "received" / name;
      fs::create_directories(link.parent_path());
      fs::create_symlink(elsewhere, link);
      const auto got = work.run("sweep study.ini --out received");
      CHECK(got.status == 1);
      CHECK_THAT(got.err, Contains(name) && Contains("link"));
      CHECK(slurp(work.path() / "profile") == kStart);
      CHECK(fs::exists(elsewhere) == there);
      if (is_folder && there) CHECK(fs::is_empty(elsewhere));
    }
  }
}

TEST_CASE("a sweep adds nothing to a file that has the name of its log as a second one") {
  const Workplace work;
  write_study(work);
  fs::create_directories(work.path() / "received/logs");
  fs::create_hard_link(work.path() / "profile",
                       work.path() / "received/logs" / (std::string(kRun) + ".txt"));
  const auto got = work.run("sweep study.ini --out received");
  CHECK(got.status == 1);
  CHECK_THAT(got.err, Contains("second name"));
  CHECK(slurp(work.path() / "profile") == kStart);
}

TEST_CASE("neither the result of a sweep nor its page goes through a link") {
  for (const std::string name : {"RESULTS.md", "study", ".study.new"}) {
    CAPTURE(name);
    const Workplace work;
    write_study(work);
    const auto elsewhere = work.path() / "elsewhere";
    if (name == "RESULTS.md") {
      write_bytes(elsewhere, kStart);
    } else {
      fs::create_directory(elsewhere);
      write_bytes(elsewhere / "run.sqlite", kStart);
    }
    fs::create_symlink(elsewhere, work.path() / "received" / name);
    const auto got = work.run("sweep study.ini --out received");
    // What a result is made in is removed first: the link alone goes.
    const bool is_ours = name == ".study.new";
    CHECK(got.status == (is_ours ? 0 : 1));
    CHECK(fs::exists(work.path() / "received" / kRun) == is_ours);
    if (!is_ours) CHECK_THAT(got.err, Contains(name));
    CHECK(slurp(fs::is_directory(elsewhere) ? elsewhere / "run.sqlite" : elsewhere) == kStart);
    if (is_ours) {
      CHECK_FALSE(fs::exists(fs::symlink_status(work.path() / "received" / name)));
      const auto again = work.run("results received --out elsewhere");
      CHECK(again.status == 0);
      CHECK(slurp(elsewhere / "run.sqlite") == kStart);
    }
  }
}

TEST_CASE("a pipe in somebody else's folder is not waited for") {
  const Workplace work;
  REQUIRE(work.run(Workplace::train("--train.steps 2 --out whole")).status == 0);
  REQUIRE(work.run(Workplace::train("--train.steps 2 --out runs/b")).status == 0);
  const auto run = work.path() / "runs/a";
  for (const std::string name : {"run.sqlite", "run.sqlite-wal", "writer.lock", "checkpoints"}) {
    CAPTURE(name);
    fs::remove_all(run);
    fs::copy(work.path() / "whole", run, fs::copy_options::recursive);
    fs::remove_all(run / name);
    REQUIRE(::mkfifo((run / name).c_str(), 0600) == 0);
    for (const std::string command : {"runs runs",
                                      "check runs/a",
                                      "report runs/a runs/b --out p",
                                      "train --resume runs/a --train.steps 4"}) {
      CAPTURE(command);
      CHECK(work.run(command, "timeout 60").status != 124);
    }
    CHECK_THAT(work.run("runs runs").out, Contains("runs/b"));
  }
}

TEST_CASE("what reads follows a link in place of a run") {
  const Workplace work;
  REQUIRE(work.run(Workplace::train("--train.steps 2 --out elsewhere")).status == 0);
  fs::create_directories(work.path() / "runs");
  fs::create_directory_symlink(work.path() / "elsewhere", work.path() / "runs/a");
  const auto listed = work.run("runs runs");
  CHECK(listed.status == 0);
  CHECK_THAT(listed.out, Contains("runs/a"));
  CHECK(work.run("report runs --out page").status == 0);
}

TEST_CASE("a label leads out of no folder") {
  for (const std::string label : {"..", ".", "../up", "/etc"}) {
    CAPTURE(label);
    const Workplace work;
    REQUIRE(work.run(Workplace::train("--train.steps 2 --label '" + label + "'")).status == 0);
    REQUIRE(fs::exists(work.path() / "runs"));
    CHECK_FALSE(fs::exists(work.path() / "run.sqlite"));
    const auto inside = std::distance(fs::directory_iterator(work.path() / "runs"), {});
    REQUIRE(inside == 1);
    const auto dir = fs::directory_iterator(work.path() / "runs")->path();
    CHECK(store::RunReader(dir).fact("label") == label);
  }
}
