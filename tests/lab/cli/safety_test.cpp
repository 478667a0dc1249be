// SPDX-License-Identifier: Apache-2.0
// What the program does to files: nothing is lost, and nothing in a run can hurt.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/workplace.h"

using namespace kappascope;
using Catch::Matchers::Contains;
using kappascope::testing::slurp;
namespace fs = std::filesystem;

namespace {

void put(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

/// The checkpoints of a run, by step.
std::vector<fs::path> checkpoints(const fs::path& run) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints"))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TEST_CASE("no output destroys a run, a file of somebody else's, or what a link leads to") {
  const testing::Workplace work;
  REQUIRE(work.run(testing::Workplace::train("--train.steps 12 --out run")).status == 0);
  REQUIRE(work.run("train --data data --model.width 6 --model.hidden 10 --train.batch 32 "
                   "--train.steps 12 --out other")
              .status == 0);
  const auto database = slurp(work.path() / "run/run.sqlite");
  const auto notes = work.path() / "notes.txt";
  put(notes, "months of notes");
  fs::create_symlink("notes.txt", work.path() / "link");
  for (const std::string command : {"export run --out ",
                                    "export run --format jsonl --out ",
                                    "export run --format npz --out ",
                                    "report run --out ",
                                    "compare run other --out ",
                                    "spectrum run --top 1 --rows 40 --no-store --density-out "}) {
    CAPTURE(command);
    for (const std::string force : {"", " --force"}) {
      const auto onto_run = work.run(command + "run/run.sqlite" + force);
      CHECK(onto_run.status == 1);
      CHECK_THAT(onto_run.err, Contains("run/run.sqlite") && Contains("is a database"));
      CHECK(work.run(command + "/dev/null" + force).status == 1);
      CHECK_THAT(work.run(command + "link" + force).err, Contains("is a link"));
    }
    const auto refused = work.run(command + "notes.txt");
    CHECK(refused.status == 1);
    CHECK_THAT(refused.err, Contains("notes.txt") && Contains("--force"));
    CHECK(slurp(notes) == "months of notes");
    // Its own output is replaced without a word.
    REQUIRE(work.run(command + "own").status == 0);
    CHECK(work.run(command + "own").status == 0);
    fs::remove(work.path() / "own");
  }
  CHECK(slurp(work.path() / "run/run.sqlite") == database);
  CHECK(work.run("export run --out notes.txt --force").status == 0);
  CHECK_THAT(slurp(notes), Contains("loss/train"));
}

TEST_CASE("figures replace figures, and nothing else of their name") {
  const testing::Workplace work;
  REQUIRE(work.run(testing::Workplace::train("--train.steps 12 --out run")).status == 0);
  const std::string command = "report run --out page.html --figures figures";
  REQUIRE(work.run(command).status == 0);
  REQUIRE(work.run(command).status == 0);
  const auto figure = work.path() / "figures/loss_and_kappa.svg";
  REQUIRE(fs::exists(figure));
  fs::remove(work.path() / "figures/figures.json");
  put(figure, "drawn by hand");
  const auto refused = work.run(command);
  CHECK(refused.status == 1);
  CHECK_THAT(refused.err, Contains("loss_and_kappa.svg") && Contains("--force"));
  CHECK(slurp(figure) == "drawn by hand");
  CHECK(work.run(command + " --force").status == 0);
  CHECK_THAT(slurp(figure), Contains("<svg"));
}

TEST_CASE("a checkpoint that could run code is refused by every command that reads one") {
  const testing::Workplace work;
  REQUIRE(work.run(testing::Workplace::train("--train.steps 12 --out run")).status == 0);
  for (const auto& file : checkpoints(work.path() / "run")) {
    auto old = file;
    fs::rename(file, old.replace_extension(".pt"));
  }
  for (const std::string command : {"spectrum run --top 1 --rows 40", "train --resume run"}) {
    const auto refused = work.run(command);
    CHECK(refused.status == 1);
    CHECK_THAT(refused.err, Contains(".pt") && Contains("could run code"));
  }
}

TEST_CASE("a damaged newest checkpoint is passed over with a warning, an older one taken") {
  const testing::Workplace work;
  REQUIRE(work.run(testing::Workplace::train("--train.steps 30 --out run")).status == 0);
  REQUIRE(work.run(testing::Workplace::train("--train.steps 30 --out whole")).status == 0);
  const auto files = checkpoints(work.path() / "run");
  REQUIRE(files.size() == 3);
  auto bytes = slurp(files.back());
  bytes[bytes.size() / 2] ^= 4;
  put(files.back(), bytes);
  const auto spectrum = work.run("spectrum run --top 1 --rows 40 --no-store --json");
  CHECK(spectrum.status == 0);
  CHECK_THAT(spectrum.err, Contains(files.back().filename().string()) && Contains("is damaged"));
  CHECK_THAT(spectrum.out, Contains("\"step\":27"));
  const auto resumed = work.run("train --resume run");
  CHECK(resumed.status == 0);
  CHECK_THAT(resumed.err, Contains("is damaged") && Contains("after 27 steps"));
  CHECK(slurp(checkpoints(work.path() / "run").back()) ==
        slurp(checkpoints(work.path() / "whole").back()));
}

TEST_CASE("a changed value is told by every command, which ends with 1, left out, and listed") {
  const testing::Workplace work;
  REQUIRE(work.run(testing::Workplace::train("--train.steps 30 --out run")).status == 0);
  const auto whole = work.run("check run");
  CHECK(whole.status == 0);
  CHECK_THAT(whole.out, Contains("run: whole;") && Contains("3 whole checkpoints"));
  REQUIRE(std::system(("sqlite3 '" + work.path().string() +
                       "/run/run.sqlite' \"UPDATE scalars SET value = 2 * value WHERE name = "
                       "'loss/test' AND step = 19\"")
                          .c_str()) == 0);
  const auto found = work.run("check run --json");
  CHECK(found.status == 1);
  CHECK_THAT(found.out, Contains("\"whole\":false") && Contains("loss/test, step 19"));
  const auto report = work.run("report run --out page.html");
  CHECK(report.status == 1);
  CHECK_THAT(report.err, Contains("warning: run is damaged") && Contains("loss/test, step 19"));
  CHECK_THAT(slurp(work.path() / "page.html"), Contains("1 stored value is damaged"));
  const auto exported = work.run("export run");
  CHECK(exported.status == 1);
  CHECK_THAT(exported.err, Contains("warning: run is damaged") && Contains("loss/test, step 19"));
  CHECK_THAT(exported.out, !Contains("19,loss/test") && Contains("29,loss/test"));
  const auto listed = work.run("runs . --json");
  CHECK(listed.status == 1);
  CHECK_THAT(listed.err, Contains("warning: ./run is damaged"));
  CHECK_THAT(listed.out, Contains("\"damaged\":1"));
  fs::create_directories(work.path() / "whole");
  fs::copy(work.path() / "run", work.path() / "whole/run", fs::copy_options::recursive);
  REQUIRE(work.run("annotate whole/run --label other").status == 0);
  for (const std::string other : {"spectrum run --rows 20 --top 1",
                                  "verify P-L2e --run run",
                                  "advise run",
                                  "compare run whole/run"}) {
    CAPTURE(other);
    const auto done = work.run(other);
    CHECK(done.status == 1);
    CHECK_THAT(done.err, Contains("run is damaged in 1 place"));
  }
}

TEST_CASE("rows that are gone are told by every command that reads their series") {
  const testing::Workplace work;
  REQUIRE(work.run(testing::Workplace::train("--train.steps 30 --out run")).status == 0);
  REQUIRE(
      std::system(("sqlite3 '" + work.path().string() +
                   "/run/run.sqlite' \"DELETE FROM scalars WHERE name = 'loss/train' AND step > "
                   "20\"")
                      .c_str()) == 0);
  for (const std::string command :
       {"check run", "export run", "runs .", "report run", "advise run"}) {
    CAPTURE(command);
    const auto done = work.run(command);
    CHECK(done.status == 1);
    CHECK_THAT(done.out + done.err,
               Contains("run") && (Contains("damaged") || Contains("DAMAGED")));
  }
  CHECK_THAT(work.run("check run").out, Contains("loss/train: 9 of 30 rows missing"));
}
