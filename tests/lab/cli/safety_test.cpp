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
using kappascope::testing::write_bytes;
namespace fs = std::filesystem;

namespace {

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
  write_bytes(notes, "months of notes");
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

TEST_CASE("neither weights nor results destroy a file of somebody else's") {
  const testing::Workplace work;
  write_bytes(work.path() / "study.ini",
              "[data]\npath = data\n[model]\nwidth = 6\nhidden = 8\nblocks = 1\n"
              "[train]\nsteps = 2\nbatch = 32\nthreads = 1\n"
              "[probes]\nhessian = false\ngradient-variance = false\n"
              "[study]\nseeds = 1\nmetrics = loss/test\n[arms]\nnone = model.bias=none\n");
  REQUIRE(work.run("sweep study.ini --out runs").status == 0);
  const fs::path page = work.path() / "page";
  fs::create_directories(page);
  int trained = 0;
  const auto train_to = [&](const std::string& file) {
    return work.run(testing::Workplace::train("--train.steps 2 --out trained-" +
                                              std::to_string(++trained) + " --save " + file));
  };
  const auto results_to = [&](const std::string& file) {
    return work.run("results runs --out page" +
                    std::string(file.ends_with("--force") ? " --force" : ""));
  };
  for (const std::string name : {"weights", "RESULTS.md", "results.json"}) {
    CAPTURE(name);
    const bool is_weights = name == "weights";
    const auto file = page / name;
    const auto write = [&](bool force) {
      const std::string words = "page/" + name + (force ? " --force" : "");
      return is_weights ? train_to(words) : results_to(words);
    };
    const auto refuses = [&](bool force, const std::string& why) {
      CAPTURE(force, why);
      const auto before = slurp(file);
      const auto got = write(force);
      CHECK(got.status == 1);
      CHECK_THAT(got.err, Contains(name) && Contains(why));
      CHECK(slurp(file) == before);
    };
    write_bytes(file, "months of notes");
    refuses(false, "--force");
    fs::copy_file(
        work.path() / "runs/study/run.sqlite", file, fs::copy_options::overwrite_existing);
    for (const bool force : {false, true}) refuses(force, "is a database");
    fs::remove(file);
    write_bytes(work.path() / "notes.txt", "months of notes");
    fs::create_symlink("../notes.txt", file);
    for (const bool force : {false, true}) refuses(force, "is a link");
    CHECK(slurp(work.path() / "notes.txt") == "months of notes");
    fs::remove(file);
    CHECK(write(false).status == 0);
    CHECK(write(false).status == 0);
    write_bytes(file, "months of notes");
    CHECK(write(true).status == 0);
  }
  // What was refused was refused before any work.
  CHECK_FALSE(fs::exists(work.path() / "trained-1"));
  CHECK(fs::exists(work.path() / ("trained-" + std::to_string(trained))));
}

TEST_CASE("figures replace figures, and nothing else of their name") {
  const testing::Workplace work;
  REQUIRE(work.run(testing::Workplace::train("--train.steps 12 --out run")).status == 0);
  const std::string command = "report run --out page.html --figures figures";
  REQUIRE(work.run(command).status == 0);
  REQUIRE(work.run(command).status == 0);
  const auto figure = work.path() / "figures/overview.svg";
  REQUIRE(fs::exists(figure));
  fs::remove(work.path() / "figures/figures.json");
  write_bytes(figure, "drawn by hand");
  const auto refused = work.run(command);
  CHECK(refused.status == 1);
  CHECK_THAT(refused.err, Contains("overview.svg") && Contains("--force"));
  CHECK(slurp(figure) == "drawn by hand");
  CHECK(work.run(command + " --force").status == 0);
  CHECK_THAT(slurp(figure), Contains("<svg"));
  const auto list = work.path() / "figures/figures.json";
  write_bytes(list, "{\"plots\": []}");
  const auto foreign = work.run(command);
  CHECK(foreign.status == 1);
  CHECK_THAT(foreign.err, Contains("figures.json") && Contains("--force"));
  CHECK(slurp(list) == "{\"plots\": []}");
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
  const auto files = checkpoints(work.path() / "run");
  REQUIRE(files.size() == 3);
  auto bytes = slurp(files.back());
  bytes[bytes.size() / 2] ^= 4;
  write_bytes(files.back(), bytes);
  const auto spectrum = work.run("spectrum run --top 1 --rows 40 --no-store --json");
  CHECK(spectrum.status == 0);
  CHECK_THAT(spectrum.err, Contains(files.back().filename().string()) && Contains("is damaged"));
  CHECK_THAT(spectrum.out, Contains("\"step\":27"));
  const auto resumed = work.run("train --resume run");
  CHECK(resumed.status == 0);
  CHECK_THAT(resumed.err, Contains("is damaged") && Contains("after 27 steps"));
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
  std::ofstream(work.path() / "ledger.json") << work.run("verify P-L2e --run run --json").out;
  for (const std::string other : {"spectrum run --rows 20 --top 1",
                                  "verify P-L2e --run run",
                                  "verify P-L2e --run run --explain",
                                  "verify P-L2e --run run --expect ledger.json",
                                  "advise run",
                                  "compare run whole/run"}) {
    CAPTURE(other);
    const auto done = work.run(other);
    CHECK(done.status == 1);
    CHECK_THAT(done.err, Contains("run is damaged in 1 place"));
  }
  // The state is not in the rows: what goes on is what would have gone on.
  const auto resumed = work.run("train --resume run");
  CHECK(resumed.status == 0);
  CHECK_THAT(resumed.err, Contains("run is damaged in 1 place") && Contains("loss/test, step 19"));
}

TEST_CASE("`runs` ends with 1 for what its line is made of alone") {
  const testing::Workplace work;
  REQUIRE(work.run(testing::Workplace::train("--train.steps 12 --out run")).status == 0);
  const auto change = [&](const std::string& sql) {
    REQUIRE(std::system(("sqlite3 '" + work.path().string() + "/run/run.sqlite' \"" + sql + "\"")
                            .c_str()) == 0);
  };
  change("UPDATE scalars SET value = 2 * value WHERE name = 'gradient_norm'");
  CHECK(work.run("runs .").status == 0);
  CHECK(work.run("check run").status == 1);
  change("UPDATE facts SET value = 'other' WHERE key = 'label'");
  CHECK(work.run("runs .").status == 1);
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
