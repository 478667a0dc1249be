// SPDX-License-Identifier: Apache-2.0
// What a terminal is sent where names and messages are a stranger's.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "kappascope/store/run.h"
#include "support/catch.h"
#include "support/workplace.h"

using namespace kappascope;
using Catch::Contains;
using kappascope::testing::Output;
using kappascope::testing::Workplace;
namespace fs = std::filesystem;

namespace {

/// Clears the screen, rings, writes a title, ends in C1's CSI, and turns what follows around.
const std::string kControls =
    "\x1b[2J\a\x1b]0;t\x1b\\\xc2\x9b"
    "31m\r\u202E\u2066";
/// The same, and begins a line with the program's own words.
const std::string kHostile = kControls + "\nkappascope: error";

/// The place of the first character that a terminal obeys; line breaks are ours.
std::size_t obeyed(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if ((c < 0x20 && c != '\n') || c == 0x7f || (c == 0xc2 && next < 0xa0)) return i;
    if (text.substr(i, 3) == "\u202E" || text.substr(i, 3) == "\u2066") return i;
  }
  return std::string_view::npos;
}

/// Writes what `from` holds as the run `to`, every text of it hostile, its arm named like `to`.
void copy_hostile(const fs::path& from, const fs::path& to) {
  const store::RunReader read(from);
  store::Facts facts;
  for (const auto& [key, value] : read.facts()) {
    if (key == "state" || key == "journal_mode") continue;
    const bool is_needed = key == "config" || key == "created" || key == "steps";
    const auto arm = key == "label" ? to.filename().string() : "";
    facts.emplace_back(key, is_needed ? value : value + arm + kHostile);
  }
  facts.emplace_back("note", kHostile);
  facts.emplace_back(kHostile, kHostile);
  std::map<std::int64_t, store::Snapshot> snapshots;
  for (const auto& key : read.series()) {
    for (auto value : read.scalars(key)) {
      if (!key.layer.empty()) value.scalar.layer += kHostile;
      snapshots[value.step].scalars.push_back(value.scalar);
    }
  }
  auto writer = store::RunWriter::create(to, facts);
  for (auto& [step, snapshot] : snapshots) {
    snapshot.step = step;
    snapshot.events = {{"probe_failed", kHostile}, {kHostile, kHostile}};
    writer.write(snapshot);
  }
  writer.set_state("finished");
}

/// No failure of the program itself is allowed, so that its words come from the texts alone.
void check_lines(const Output& got) {
  CHECK_THAT("\n" + got.out + "\n" + got.err, !Contains("\nkappascope: error"));
}

void check_text(const Output& got) {
  CHECK(got.out.substr(std::min(got.out.size(), obeyed(got.out)), 40) == "");
  CHECK(got.err.substr(std::min(got.err.size(), obeyed(got.err)), 40) == "");
}

}  // namespace

TEST_CASE("no command sends a terminal what a run's texts would have it do") {
  const Workplace work;
  REQUIRE(work.run(Workplace::train("--train.steps 40 --out plain")).status == 0);
  const auto runs = work.path() / "runs";
  copy_hostile(work.path() / "plain", runs / "a");
  copy_hostile(work.path() / "plain", runs / "b");
  fs::copy(work.path() / "plain/checkpoints", runs / "a/checkpoints");
  for (const std::string& command :
       std::vector<std::string>{"runs runs",
                                "check runs/a",
                                "advise runs/a",
                                "advise runs",
                                "report runs --out page.html",
                                "compare runs/a runs/b",
                                "spectrum runs/a --top 1 --rows 20",
                                "verify P-L2e --run runs/a",
                                "annotate runs/a --note x",
                                "annotate runs/b --label '" + kHostile + "'",
                                "runs runs",
                                "train --resume runs/a --train.steps 44"}) {
    CAPTURE(command);
    const auto got = work.run(command);
    check_text(got);
    check_lines(got);
    if (command == "advise runs/a") CHECK_THAT(got.out, Contains(" kappascope: error"));
  }
  // Damage names what it finds.
  REQUIRE(std::system(("sqlite3 '" + (runs / "b/run.sqlite").string() +
                       "' 'UPDATE scalars SET value = 2 * value; UPDATE facts SET crc = 1'")
                          .c_str()) == 0);
  for (const std::string command :
       {"runs runs", "check runs/b", "advise runs/b", "report runs --out page.html"}) {
    CAPTURE(command);
    check_text(work.run(command));
  }
}

TEST_CASE("JSON of hostile texts is JSON, and has them as they are") {
  const Workplace work;
  REQUIRE(work.run(Workplace::train("--train.steps 12 --out plain")).status == 0);
  const auto name = std::string("turned\u202E");
  for (const auto* run : {"a", "b"}) copy_hostile(work.path() / "plain", work.path() / name / run);
  fs::copy(work.path() / "plain/checkpoints", work.path() / name / "a/checkpoints");
  const auto quoted = " '" + name + "'";
  for (const std::string& command : {"runs" + quoted,
                                     "advise" + quoted,
                                     "advise '" + name + "/a'",
                                     "check '" + name + "/a'",
                                     "compare '" + name + "/a' '" + name + "/b'",
                                     "spectrum '" + name + "/a' --top 1 --rows 20 --no-store",
                                     "verify P-L2e --run '" + name + "/a'"}) {
    CAPTURE(command);
    std::istringstream lines(work.run(command + " --json").out);
    int values = 0;
    bool is_named = false;
    for (std::string line; std::getline(lines, line); ++values) {
      CHECK(nlohmann::json::accept(line));
      is_named = is_named || line.find("\u202E") != std::string::npos;
    }
    CHECK(values >= 1);
    if (command.starts_with("runs") || command.starts_with("advise" + quoted)) CHECK(is_named);
  }
}

TEST_CASE("neither a sweep nor its result sends a terminal what its texts would have it do") {
  const Workplace work;
  const auto study = [&](const std::string& arm) {
    testing::write_bytes(work.path() / "study.ini",
                         "[data]\npath = data\n[model]\nwidth = 6\nhidden = 8\nblocks = 1\n"
                         "[train]\nsteps = 2\nbatch = 32\nthreads = 1\n"
                         "[probes]\nhessian = false\ngradient-variance = false\n"
                         "[study]\nseeds = 1\nmetrics = loss/test\n[arms]\n" +
                             arm + " = model.bias=none\n");
  };
  study("x" + kControls);
  const auto refused = work.run("sweep study.ini --out hostile");
  CHECK(refused.status == 2);
  check_text(refused);
  // What no study can say, a result can.
  study("somebody");
  REQUIRE(work.run("sweep study.ini --out result").status == 0);
  auto result = store::RunReader(work.path() / "result/study").fact("result");
  const std::string hostile = R"(\u001b[2J\u202e\nkappascope: error)";
  for (auto at = result.find("somebody"); at != std::string::npos; at = result.find("somebody"))
    result.replace(at, std::string_view("somebody").size(), hostile);
  store::RunWriter::append(work.path() / "result/study").set_fact("result", result);
  const auto shown = work.run("results result");
  CHECK(shown.status == 0);
  CHECK_THAT(shown.out, Contains("kappascope: error"));
  check_text(shown);
  check_lines(shown);
}

TEST_CASE("no command sends a terminal what its own words, a file or a study would have it do") {
  const Workplace work;
  testing::write_bytes(work.path() / "study.ini",
                       "[data]\npath = data\n[study]\nseeds = 1\nmetrics = loss/te" + kControls +
                           "\n[arms]\nx" + kControls + " = model.bias=none\n");
  const auto quoted = " '" + kHostile + "'";
  for (const std::string& command : {std::string("sweep study.ini --list"),
                                     "runs" + quoted,
                                     "check" + quoted,
                                     "advise" + quoted,
                                     "train --data" + quoted,
                                     "train --config" + quoted,
                                     "train --model.kind" + quoted,
                                     "verify" + quoted,
                                     quoted}) {
    CAPTURE(command);
    check_text(work.run(command));
  }
}
