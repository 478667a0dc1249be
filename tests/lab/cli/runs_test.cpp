// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kappascope/store/run.h"
#include "support/catch.h"
#include "support/workplace.h"

using Catch::Contains;
using kappascope::testing::Workplace;
namespace fs = std::filesystem;

namespace {

void write_run(const fs::path& dir) {
  auto run = kappascope::store::RunWriter::create(
      dir, {{"label", "PGB"}, {"created", "2026-01-31T12:00:00Z"}});
  run.write(
      {.step = 9,
       .scalars = {{.name = "loss/train", .value = 0.5}, {.name = "loss/test", .value = 0.25}}});
  run.set_state("finished");
}

}  // namespace

TEST_CASE("runs shows start, duration and test loss") {
  const Workplace work;
  write_run(work.path() / "runs/a");
  const auto table = work.run("runs");
  REQUIRE(table.status == 0);
  CHECK_THAT(table.out, Contains("start (UTC)") && Contains("2026-01-31 12:00"));
  CHECK_THAT(table.out, Contains("0.25") && Contains(" h "));
  const auto row = nlohmann::json::parse(work.run("runs --json").out);
  CHECK(row["test_loss"] == 0.25);
  CHECK(row["seconds"] > 1e6);  // written today, made in January
  CHECK(row["created"] == "2026-01-31T12:00:00Z");
}

TEST_CASE("runs keeps to the width of a terminal, and leaves nothing out") {
  const Workplace work;
  write_run(work.path() / "runs/a_name_of_some_length");
  const std::string narrow = R"(f() { script -qec "stty cols 60 && $*" /dev/null; }; f)";
  if (work.run("--version", narrow).status != 0) {
    WARN("not tried: this system has no pseudo terminals");
    return;
  }
  const auto wide = work.run("runs").out, got = work.run("runs", narrow).out;
  std::istringstream lines(got);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 60 + 1);  // with \r
  std::istringstream all(wide);
  for (std::string word; all >> word;) CHECK_THAT(got, Contains(word));
}

TEST_CASE("a person labels, notes and archives runs") {
  const Workplace work;
  write_run(work.path() / "runs/a");
  write_run(work.path() / "runs/b");
  const auto listed = [&](const std::string& more) {
    std::istringstream lines(work.run("runs --json" + more).out);
    std::string names;
    for (std::string line; std::getline(lines, line);) {
      const auto row = nlohmann::json::parse(line);
      names += row["run"].get<std::string>() + " " + row["label"].get<std::string>() + "\n";
    }
    return names;
  };
  REQUIRE(work.run("annotate runs/a --label mine --note 'too short' --archive").status == 0);
  CHECK(listed("") == "runs/b PGB\n");
  CHECK(listed(" --archived") == "runs/a mine\nruns/b PGB\n");
  CHECK(kappascope::store::RunReader(work.path() / "runs/a").fact("note") == "too short");
  CHECK(kappascope::store::RunReader(work.path() / "runs/a").state() == "finished");
  CHECK_THAT(work.run("export runs").out, !Contains("runs/a"));
  CHECK(work.run("export runs/a").status == 0);
  REQUIRE(work.run("annotate runs/a runs/b --restore").status == 0);
  CHECK(listed("") == "runs/a mine\nruns/b PGB\n");
  CHECK(work.run("annotate runs/a").status == 2);
  CHECK(work.run("annotate runs/a --archive --restore").status == 2);
  CHECK(work.run("annotate runs/none --note x").status == 1);
}

TEST_CASE("messages, events, runs and report count the same steps, before and after a resumption") {
  const Workplace work;
  const auto json_of = [](const std::string& text) { return nlohmann::json::parse(text); };
  const auto stopped = work.run_until(
      Workplace::train("--train.steps 400 --train.checkpoint-every 5 --out run --json"),
      "run/checkpoints/step-00000005.safetensors",
      "INT");
  REQUIRE(stopped.status == 130);
  const auto check = [&](const kappascope::testing::Output& trained, int64_t steps) {
    CHECK(json_of(trained.out)["steps"] == steps);
    CHECK(json_of(work.run("runs --json .").out)["steps"] == steps);
    const auto exported = work.run("export run --format jsonl").out;
    CHECK(json_of(exported.substr(0, exported.find('\n')))["last_step"] == steps - 1);
    REQUIRE(work.run("report run --force --out page.html").status == 0);
    CHECK_THAT(kappascope::testing::slurp(work.path() / "page.html"),
               Contains(fmt::format("<th scope=\"row\">steps stored</th><td>{}</td>", steps)));
  };
  const auto steps = json_of(stopped.out)["steps"].get<int64_t>();
  CHECK_THAT(stopped.err, Contains(fmt::format("stopped after {} of 400 steps", steps)));
  check(stopped, steps);

  const auto resumed = work.run("train --resume run --json");
  REQUIRE(resumed.status == 0);
  CHECK_THAT(resumed.err, Contains(fmt::format("resuming run after {} steps", steps)));
  const auto events = kappascope::store::RunReader(work.path() / "run").events();
  const auto told =
      std::ranges::find(events, "resumed", [](const auto& stored) { return stored.event.kind; });
  REQUIRE(told != events.end());
  CHECK(told->event.message == fmt::format("resumed after {} steps", steps));
  CHECK(told->step == steps - 1);
  check(resumed, 400);
}

TEST_CASE("advise says what a run's features cost, in words and as JSON") {
  const Workplace work;
  REQUIRE(work.run(Workplace::train("--train.steps 20 --out run")).status == 0);
  const auto text = work.run("advise run");
  CHECK(text.status == 0);
  CHECK_THAT(text.out, Contains("down_proj") && Contains("What this does not promise"));
  const auto json = work.run("advise run --json");
  CHECK_FALSE(nlohmann::json::parse(json.out)["layers"].empty());
  write_run(work.path() / "plain");
  const auto nothing = work.run("advise plain");
  CHECK(nothing.status == 1);
  CHECK_THAT(nothing.err, Contains("no down-projection was measured"));
}

TEST_CASE("report, advise and export take a folder of runs, as watch does") {
  const Workplace work;
  for (const char* name : {"runs/a", "runs/b"})
    REQUIRE(work.run(Workplace::train(fmt::format("--train.steps 20 --out {}", name))).status == 0);
  write_run(work.path() / "runs/plain");
  const auto lines_of = [](const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  };

  REQUIRE(work.run("report runs").status == 0);
  const auto page = kappascope::testing::slurp(work.path() / "runs/report.html");
  REQUIRE(work.run("report runs/a runs/b runs/plain --out three.html").status == 0);
  CHECK(page == kappascope::testing::slurp(work.path() / "three.html"));

  // The one without condition numbers is said, and the others are told.
  const auto advice = work.run("advise runs --json");
  CHECK(advice.status == 1);
  CHECK_THAT(advice.err, Contains("runs/plain"));
  const auto told = lines_of(advice.out);
  REQUIRE(told.size() == 2);
  const auto alone = nlohmann::json::parse(work.run("advise runs/b --json").out);
  auto second = nlohmann::json::parse(told[1]);
  CHECK(second["run"] == "runs/b");
  second.erase("run");
  CHECK(second == alone);
  CHECK_THAT(work.run("advise runs").out, Contains("runs/a\n") && Contains("runs/b\n"));

  const auto rows = lines_of(work.run("export runs").out);
  std::size_t expected = 1;
  for (const char* name : {"a", "b", "plain"}) {
    const auto own = lines_of(work.run(fmt::format("export runs/{}", name)).out);
    expected += own.size() - 1;
    auto row = own.back();
    row.insert(row.find('\r'), fmt::format(",{}", name));
    CHECK(std::ranges::find(rows, row) != rows.end());
  }
  CHECK(rows.size() == expected);
  for (const auto& line : lines_of(work.run("export runs --format jsonl").out))
    CHECK(nlohmann::json::parse(line).contains("run"));
  CHECK(work.run("export runs --format npz --out all.npz").status == 0);
  CHECK(work.run("export nowhere").status == 1);
}

TEST_CASE("a run that cannot be shown spoils no other line of runs") {
  const Workplace work;
  write_run(work.path() / "runs/a");
  write_run(work.path() / "runs/b-\xff\xfe");
  write_run(work.path() / "runs/c");
  fs::create_directories(work.path() / "runs/d");
  kappascope::testing::write_bytes(work.path() / "runs/d/run.sqlite", "no database");
  const auto got = work.run("runs --json");
  CHECK(got.status == 1);
  CHECK_THAT(got.err, Contains("runs/d"));
  std::istringstream lines(got.out);
  int rows = 0, errors = 0;
  for (std::string line; std::getline(lines, line); ++rows)
    errors += nlohmann::json::parse(line).contains("error") ? 1 : 0;
  CHECK(rows == 4);
  CHECK(errors == 1);
  CHECK(work.run("runs").status == 1);
}
