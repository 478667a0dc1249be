// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "kappascope/store/run.h"
#include "support/catch.h"
#include "support/workplace.h"

using Catch::Contains;
using kappascope::store::RunReader;
using kappascope::testing::Workplace;
using kappascope::testing::write_bytes;
namespace fs = std::filesystem;

namespace {

constexpr const char* kGrid = "[grid]\nmodel.dropout = 0 0.2\n";

/// Two arms and two seeds under each condition of the grid, of a second each at most.
void write_study(const Workplace& work, const std::string& grid = "") {
  write_bytes(work.path() / "study.ini",
              "[data]\npath = data\n"
              "[model]\nwidth = 6\nhidden = 8\nblocks = 1\n"
              "[train]\nsteps = 12\nbatch = 32\nthreads = 1\n"
              "[probes]\nhessian = false\ngradient-variance = false\n"
              "[study]\nseeds = 2\nmetrics = loss/test accuracy/test\n"
              "[arms]\nno bias = model.bias=none\nPGB = model.bias=post-gating\n" +
                  grid);
}

}  // namespace

TEST_CASE("a sweep trains arms, conditions and seeds, compares by seed, and keeps what is there") {
  const Workplace work;
  write_study(work, kGrid);
  const auto listed = work.run("sweep study.ini --list");
  CHECK(listed.status == 0);
  CHECK_THAT(listed.out, Contains("no-bias_dropout-0_seed-1\nPGB_dropout-0_seed-1\n"));
  CHECK(std::count(listed.out.begin(), listed.out.end(), '\n') == 8);
  CHECK_FALSE(fs::exists(work.path() / "runs"));

  const auto swept = work.run("sweep study.ini --jobs 2 --json");
  INFO(swept.err);
  REQUIRE(swept.status == 0);
  const auto result = nlohmann::json::parse(swept.out);
  CHECK(result["runs"] == 8);
  REQUIRE(result["comparisons"].size() == 4);  // two metrics under two conditions
  const auto& first = result["comparisons"][0];
  CHECK(first["metric"] == "loss/test");
  CHECK(first["condition"] == "dropout 0");
  CHECK(first["control"] == "no bias");
  CHECK(first["pairs"] == 2);

  // The result is a store of its own beside the runs, which is none of them.
  const auto found =
      nlohmann::json::parse(RunReader(work.path() / "runs/study/study").fact("result"));
  CHECK(found == result);
  CHECK(result["arms"][1]["arm"] == "PGB");
  CHECK(result["arms"][1]["parameters"] > result["arms"][0]["parameters"]);
  CHECK(result["command"] == "kappascope sweep study.ini");
  CHECK_THAT(kappascope::testing::slurp(work.path() /
                                        "runs/study/settings/no-bias_dropout-0.2_seed-1.ini"),
             Contains("width = 6") && Contains("dropout = 0.2"));
  const auto page = work.run("results runs/study");
  CHECK(page.status == 0);
  CHECK_THAT(page.out, Contains("## study") && Contains("| loss/test | dropout 0 | PGB |"));
  CHECK(kappascope::testing::slurp(work.path() / "runs/study/RESULTS.md") == page.out);
  CHECK(work.run("results runs/study --out .").status == 0);
  CHECK(kappascope::testing::slurp(work.path() / "RESULTS.md") == page.out);
  CHECK(nlohmann::json::parse(
            kappascope::testing::slurp(work.path() / "results.json"))["studies"][0] == result);
  CHECK(work.run("results runs").status == 1);

  // The difference is that of the runs' own last losses.
  double sum = 0;
  for (const auto* seed : {"1", "2"}) {
    const auto last = [&](const std::string& arm) {
      const RunReader run(work.path() / "runs/study" / (arm + "_dropout-0_seed-" + seed));
      CHECK(run.fact("condition") == "dropout 0");
      CHECK(run.fact("seed") == seed);
      return run.scalars({"loss/test", ""}).back().scalar.value;
    };
    sum += last("PGB") - last("no-bias");
  }
  CHECK(first["difference"].get<double>() == Approx(sum / 2));

  const auto again = work.run("sweep study.ini --jobs 1 --json");
  CHECK(again.status == 0);
  CHECK(again.out == swept.out);
  CHECK_THAT(again.err, Contains("8 of 8 runs"));

  const auto compared = work.run("compare runs/study --control PGB --metric accuracy/test");
  CHECK(compared.status == 0);
  CHECK_THAT(compared.out, Contains("accuracy/test, dropout 0.2: median of PGB"));
  CHECK_THAT(compared.out, Contains("no bias"));
  // Without --control it is the study's, not the arm of the first folder by name, which is PGB's.
  CHECK_THAT(work.run("compare runs/study").out,
             Contains("loss/test, dropout 0: median of no bias"));
  const auto drawn = work.run("compare runs/study --out study.html");
  CHECK(drawn.status == 0);
  CHECK_THAT(drawn.out, Contains("study.html"));
  CHECK_THAT(kappascope::testing::slurp(work.path() / "study.html"),
             Contains("<h1>study</h1>") && Contains("lowest to highest"));
  CHECK(work.run("compare runs/study --control nobody").status == 2);
  CHECK(work.run("compare runs/study --metric nothing").status == 2);

  const auto taken_back = work.run("sweep study.ini --set model.bias=both");
  CHECK(taken_back.status == 2);
  CHECK_THAT(taken_back.err, Contains("differ by"));

  // Other settings under the same name are refused, not taken for these runs.
  const auto other = work.run("sweep study.ini --set train.learning-rate=0.5");
  CHECK(other.status == 1);
  CHECK_THAT(other.err, Contains("other settings") && Contains("learning-rate = 0.5"));
}

TEST_CASE("one failure does not stop the rest, and a run that diverged is counted, not dropped") {
  const Workplace work;
  write_study(work, kGrid);
  write_bytes(work.path() / "bad.ini",
              kappascope::testing::slurp(work.path() / "study.ini") +
                  "[arms]\nwild = train.learning-rate=1e30\n");
  const auto swept = work.run("sweep bad.ini --seeds 1 --set train.optimizer=sgd --json");
  INFO(swept.err);
  const auto result = nlohmann::json::parse(swept.out);
  CHECK(swept.status == 0);  // a loss that becomes NaN is a result of the arm
  CHECK_THAT(swept.err, Contains("failed"));
  bool seen = false;
  for (const auto& c : result["comparisons"]) {
    if (c["arm"] != "wild") continue;
    seen = true;
    CHECK(c["left_out"] == 1);
    CHECK(c["pairs"] == 0);
  }
  CHECK(seen);

  // A run that cannot start: its folder is in the way after the others are made.
  fs::remove_all(work.path() / "runs");
  fs::create_directories(work.path() / "runs/study/PGB_dropout-0_seed-1");
  write_bytes(work.path() / "runs/study/PGB_dropout-0_seed-1/file", "x");
  const auto blocked = work.run("sweep study.ini --seeds 1");
  CHECK(blocked.status == 1);
  CHECK_THAT(blocked.err, Contains("in the way"));
}

TEST_CASE(
    "a sweep tells of a damaged run, and one that cannot read it keeps the result and the page of "
    "all of them") {
  const Workplace work;
  write_study(work);
  REQUIRE(work.run("sweep study.ini --seeds 1").status == 0);
  const auto folder = work.path() / "runs/study";
  const auto database = folder / "PGB_seed-1/run.sqlite";
  REQUIRE(std::system(("sqlite3 '" + database.string() +
                       "' \"UPDATE scalars SET value = 2 * value WHERE name = 'loss/test' AND step "
                       "= 3\"")
                          .c_str()) == 0);
  const auto told = work.run("sweep study.ini --seeds 1");
  CHECK(told.status == 1);
  CHECK_THAT(told.err, Contains("PGB_seed-1 is damaged in"));

  const auto page = kappascope::testing::slurp(folder / "RESULTS.md");
  const auto stored = RunReader(folder / "study").fact("result");
  fs::resize_file(database, 600);
  const auto again = work.run("sweep study.ini --seeds 1");
  CHECK(again.status == 1);
  CHECK_THAT(again.err, Contains("truncated") && Contains("2 of 2 runs") && Contains("is kept"));
  CHECK_THAT(again.out, Contains("1 of 2 runs"));
  CHECK(kappascope::testing::slurp(folder / "RESULTS.md") == page);
  CHECK(RunReader(folder / "study").fact("result") == stored);
}

TEST_CASE("a sweep replaces nothing that is called study and is no result, before it trains") {
  const Workplace work;
  write_study(work);
  const auto place = work.path() / "mine/study";
  const auto refused = [&] {
    const auto got = work.run("sweep study.ini --seeds 1 --out mine");
    CHECK(got.status == 1);
    CHECK_THAT(got.err, Contains("mine/study") && Contains("--out"));
    CHECK_FALSE(fs::exists(work.path() / "mine/PGB_seed-1"));
  };
  // A run, the runs of another study, a file, and a link to what is elsewhere.
  REQUIRE(work.run(Workplace::train("--train.steps 2 --out mine/study")).status == 0);
  refused();
  CHECK(RunReader(place).last_step() == 1);
  fs::remove_all(place);
  fs::create_directories(place / "arm_seed-1");
  refused();
  CHECK(fs::exists(place / "arm_seed-1"));
  fs::remove_all(place);
  write_bytes(place, "x");
  refused();
  fs::remove_all(place);
  fs::create_directories(work.path() / "elsewhere");
  fs::create_directory_symlink(work.path() / "elsewhere", place);
  refused();
}

TEST_CASE(
    "a sweep replaces no RESULTS.md that no sweep has written, and says so before it trains") {
  const Workplace work;
  write_study(work);
  fs::create_directories(work.path() / "mine");
  write_bytes(work.path() / "mine/RESULTS.md", "my own words");
  const auto refused = work.run("sweep study.ini --seeds 1 --out mine");
  CHECK(refused.status == 1);
  CHECK_THAT(refused.err, Contains("mine/RESULTS.md") && Contains("--force"));
  CHECK(kappascope::testing::slurp(work.path() / "mine/RESULTS.md") == "my own words");
  CHECK_FALSE(fs::exists(work.path() / "mine/PGB_seed-1"));
  CHECK(work.run("sweep study.ini --seeds 1 --out mine --force").status == 0);
  CHECK_THAT(kappascope::testing::slurp(work.path() / "mine/RESULTS.md"), Contains("## study"));
}

TEST_CASE("a sweep decides its study's claims, in its result and in its store") {
  const Workplace work;
  write_bytes(work.path() / "hessian-evolution.ini",
              "[data]\npath = data\n"
              "[model]\nwidth = 6\nhidden = 8\nblocks = 1\n"
              "[train]\nsteps = 12\nbatch = 32\nthreads = 1\n"
              "[probes]\nfeatures = false\ngradient-variance = false\nintercept = false\n"
              "hessian-every = 6\nhessian-rows = 32\nhessian-top = 1\n"
              "[study]\nclaims = P-X5\nseeds = 2\n"
              "[arms]\nno bias = model.bias=none\nPGB = model.bias=post-gating\n");
  const auto swept = work.run("sweep hessian-evolution.ini --json");
  INFO(swept.err);
  REQUIRE(swept.status == 0);
  const auto verdicts = nlohmann::json::parse(swept.out)["verdicts"];
  REQUIRE(verdicts.size() == 1);
  CHECK(verdicts[0]["claim"] == "P-X5");
  CHECK(verdicts[0]["cases"] == 2);
  CHECK_THAT(verdicts[0]["left"].get<std::string>(), Contains("hessian/lambda_1@median of PGB"));
  const auto rows = RunReader(work.path() / "runs/hessian-evolution/study").verdicts();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].claim == "P-X5");
  CHECK(rows[0].outcome == verdicts[0]["outcome"]);
  CHECK(rows[0].condition == verdicts[0]["condition"]);
  const auto page = work.run("results runs/hessian-evolution");
  CHECK_THAT(page.out, Contains("| P-X5 | [hessian-evolution](#hessian-evolution) |"));

  // Merged, a study stays that is not among the folders, and says when its definition has changed.
  write_study(work);
  REQUIRE(work.run("sweep study.ini --seeds 1").status == 0);
  REQUIRE(work.run("results runs/hessian-evolution --out .").status == 0);
  CHECK(work.run("results runs/study --merge").status == 2);
  REQUIRE(work.run("results runs/study --merge --definitions . --out . --force").status == 0);
  const auto both = [&] { return kappascope::testing::slurp(work.path() / "RESULTS.md"); };
  CHECK_THAT(both(), Contains("\n## hessian-evolution\n") && Contains("\n## study\n"));
  CHECK_THAT(both(), !Contains("Of an earlier definition"));
  write_bytes(work.path() / "hessian-evolution.ini",
              kappascope::testing::slurp(work.path() / "hessian-evolution.ini") +
                  "[regime]\nP-X5 = loss/test of no bias at most 1e-9\n");
  REQUIRE(work.run("results runs/study --merge --definitions . --out . --force").status == 0);
  CHECK_THAT(both(), Contains("Of an earlier definition") && Contains("| undecided |"));
  // Run again, it says that its control is elsewhere; what was trained stays.
  const auto judged = work.run("sweep hessian-evolution.ini");
  CHECK_THAT(judged.out, Contains("P-X5: regime not reached"));
  CHECK_THAT(judged.err, Contains("4 of 4 runs"));
}

TEST_CASE("a sweep that is interrupted goes on and ends as if it had not been") {
  const Workplace work;
  write_study(work, kGrid);
  const std::string long_runs = "sweep study.ini --seeds 1 --set train.steps=600 --json --out ";
  REQUIRE(work.run(long_runs + "whole").status == 0);
  const auto stopped =
      work.run_until(long_runs + "stopped", "stopped/PGB_dropout-0_seed-1/run.sqlite");
  CHECK_THAT(stopped.err, Contains("interrupted"));
  const auto resumed = work.run(long_runs + "stopped");
  INFO(resumed.err);
  REQUIRE(resumed.status == 0);
  for (const auto& entry : fs::directory_iterator(work.path() / "whole")) {
    if (!fs::exists(entry.path() / "run.sqlite") || entry.path().filename() == "study") continue;
    const auto last = [](const fs::path& dir) {
      return RunReader(dir).scalars({"loss/test", ""}).back().scalar.value;
    };
    CHECK(last(entry.path()) == last(work.path() / "stopped" / entry.path().filename()));
  }
}

TEST_CASE("an invalid study is refused before anything is trained") {
  const Workplace work;
  const auto refused = [&](const std::string& text, const std::string& why) {
    write_bytes(work.path() / "study.ini", text);
    const auto got = work.run("sweep study.ini");
    CHECK(got.status == 2);
    CHECK_THAT(got.err, Contains(why));
    CHECK_FALSE(fs::exists(work.path() / "runs"));
  };
  refused("[train]\nsteps = 3\n", "[arms]");
  refused("[arms]\na = model.bais=none\n", "did you mean 'model.bias'");
  refused("[arms]\na = model.bias=sideways\n", "sideways");
  refused("[arms]\na = model.bias=none\n[study]\nseeds = none\n", "study.seeds");
  refused("[arms]\na = model.bias=none\n[grid]\ntrain.seed = 1 2\n", "the study's own");
  refused("[arms]\na = model.bias=none\n[study]\nclaims = P-X99\n", "no claim is called P-X99");
  refused("[arms]\na = model.bias=none\n[study]\nclaims = P-X5\n", "hessian-evolution");
  for (const std::string word : {"save", "out", "force", "resume"})
    refused(word + " = elsewhere\n[arms]\na = model.bias=none\n", "unknown setting '" + word);
  const auto trained = work.run("train --config study.ini");
  CHECK(trained.status == 2);
  CHECK_THAT(trained.err, Contains("kappascope sweep"));
}

TEST_CASE("a run goes down with its sweep, however that ends, and the next sweep goes on from it") {
  const Workplace work;
  write_study(work);
  // Long enough that a run that goes on would be seen.
  const std::string sweep =
      "sweep study.ini --seeds 1 --set train.steps=4000 --set "
      "train.checkpoint-every=20 ";
  const fs::path run = work.path() / "runs/study/no-bias_seed-1";
  (void)work.run_until(sweep, (run / "checkpoints").string(), "KILL");
  std::string state = "running";
  for (int i = 0; i < 600 && state == "running"; ++i) {
    state = RunReader(run).state();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  CHECK(state == "interrupted");
  CHECK(RunReader(run).last_step() < 3999);
  // Where it goes on is what the study says now.
  CHECK(work.run(sweep + "--device cuda:99").status != 0);
  CHECK_THAT(kappascope::testing::slurp(work.path() / "runs/study/logs/no-bias_seed-1.txt"),
             Contains("cuda:99"));
}

TEST_CASE(
    "a study whose database is damaged is read without; results and compare say so and end with "
    "1") {
  const Workplace work;
  write_study(work);
  REQUIRE(work.run("sweep study.ini --seeds 1 --out runs").status == 0);
  CHECK(work.run("results runs").status == 0);
  REQUIRE(std::system(("sqlite3 '" + work.path().string() +
                       "/runs/study/run.sqlite' \"UPDATE facts SET value = 'another' WHERE key = "
                       "'label'\"")
                          .c_str()) == 0);
  const auto got = work.run("results runs");
  CHECK(got.status == 1);
  CHECK_THAT(got.err, Contains("runs/study is damaged in 1 place"));
  CHECK_THAT(got.out, Contains("study"));
  const auto compared = work.run("compare runs");
  CHECK(compared.status == 1);
  CHECK_THAT(compared.err, Contains("runs/study is damaged in 1 place"));
}

TEST_CASE("a run that names another process as its parent trains nothing") {
  const Workplace work;
  const auto train = [&](const std::string& before) {
    return work.run(Workplace::train("--train.steps 2 --out run"), before);
  };
  const auto refused = train("env KAPPASCOPE_PARENT=1");
  CHECK(refused.status == 1);
  CHECK_THAT(refused.err, Contains("the study that started this run has ended"));
  CHECK_FALSE(fs::exists(work.path() / "run"));
  CHECK(train("env KAPPASCOPE_PARENT=x").status == 1);
  // The shell gives its place to the program, whose parent is the shell's.
  CHECK(train("env -u KAPPASCOPE_PARENT").status == 0);
}

TEST_CASE("what a kill leaves of a run that was being made is not in its sweep's way") {
  const Workplace work;
  write_study(work);
  const fs::path run = work.path() / "runs/study/no-bias_seed-1";
  fs::create_directories(run);
  write_bytes(run / "writer.lock", "process 1");
  write_bytes(run / "run.sqlite.new", "half");
  CHECK(work.run("sweep study.ini --seeds 1").status == 0);
  CHECK(RunReader(run).state() == "finished");
}
