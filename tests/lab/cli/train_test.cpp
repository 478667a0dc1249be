// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "kappascope/store/run.h"
#include "support/catch.h"
#include "support/emitted.h"
#include "support/workplace.h"

using Catch::Contains;
using kappascope::store::RunReader;
using kappascope::testing::values;
using kappascope::testing::Workplace;
namespace fs = std::filesystem;

namespace {

/// Step, kind and message of each.
std::vector<std::string> alarms(const RunReader& run) {
  std::vector<std::string> out;
  for (const auto& [step, time, event] : run.events()) {
    if (event.kind.starts_with("alarm/"))
      out.push_back(std::to_string(step) + " " + event.kind + " " + event.message);
  }
  return out;
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

void require_equal_runs(const fs::path& got_dir, const fs::path& want_dir) {
  const RunReader got(got_dir), want(want_dir);
  REQUIRE(got.series().size() == want.series().size());
  for (const auto& key : want.series()) {
    // Seconds and bytes are not reproducible.
    if (key.name.rfind("cost/", 0) == 0 || key.name.starts_with("memory/")) continue;
    CAPTURE(key.name, key.layer);
    CHECK(std::ranges::equal(values(got, key), values(want, key), same));
  }
  CHECK(alarms(got) == alarms(want));
}

}  // namespace

TEST_CASE("Ctrl-C saves, says how to resume, and the resumed run is the same") {
  const Workplace work;
  const std::string settings = "--train.steps 200 ";
  REQUIRE(work.run(Workplace::train(settings + "--out whole")).status == 0);
  const auto stopped =
      work.run_until(Workplace::train(settings + "--out stopped"), "stopped/run.sqlite");
  CHECK(stopped.status == 130);
  CHECK_THAT(stopped.err, Contains("kappascope train --resume 'stopped'"));
  CHECK(RunReader(work.path() / "stopped").state() == "interrupted");
  const auto resumed = work.run("train --resume stopped --json");
  REQUIRE(resumed.status == 0);
  CHECK(nlohmann::json::parse(resumed.out)["steps"] == 200);
  require_equal_runs(work.path() / "stopped", work.path() / "whole");
}

TEST_CASE("a resumed run goes on with as many threads as it began with, and says so") {
  const Workplace work;
  // Wide enough that the threads share each sum.
  const std::string command =
      "train --data data --model.width 64 --model.hidden 512 --model.blocks 2 --train.batch 256 "
      "--train.steps 30 --probes.budget 0 --probes.every 15 --probes.hessian false --out ";
  for (const auto& [began, resumes] : {std::pair{3, 1}, {2, 2}}) {
    CAPTURE(began, resumes);
    const auto name = std::to_string(began);
    // Threads that wait without work leave the cores to others.
    const auto with = [](int threads) {
      return "OMP_WAIT_POLICY=passive OMP_NUM_THREADS=" + std::to_string(threads);
    };
    REQUIRE(work.run(command + "whole" + name, with(began)).status == 0);
    REQUIRE(work.run_until(command + name, name + "/run.sqlite", "INT", with(began)).status == 130);
    const auto resumed = work.run("train --resume " + name, with(resumes));
    REQUIRE(resumed.status == 0);
    CHECK((resumed.err.find("as the run began") != std::string::npos) == (began != resumes));
    require_equal_runs(work.path() / name, work.path() / ("whole" + name));
  }
}

TEST_CASE("a terminal that closes saves as Ctrl-C does, and under nohup training goes on") {
  const Workplace work;
  const std::string settings = "--train.steps 200 ";
  const auto closed =
      work.run_until(Workplace::train(settings + "--out closed"), "closed/run.sqlite", "HUP");
  CHECK(closed.status == 130);
  CHECK_THAT(closed.err, Contains("kappascope train --resume 'closed'"));
  CHECK(RunReader(work.path() / "closed").state() == "interrupted");
  REQUIRE(work.run("train --resume closed").status == 0);
  const auto kept = work.run_until(
      Workplace::train(settings + "--out kept"), "kept/run.sqlite", "HUP", "trap '' HUP;");
  CHECK(kept.status == 0);
  CHECK(RunReader(work.path() / "kept").state() == "finished");
  require_equal_runs(work.path() / "closed", work.path() / "kept");
}

TEST_CASE("Ctrl-C and SIGTERM end a first Hessian window that would go on for long") {
  const Workplace work;
  // Some 400 products of a tenth of a second each.
  const std::string command =
      "train --data data --model.width 128 --model.hidden 512 --model.blocks 3 --train.batch 32 "
      "--train.threads 1 --train.steps 3 --probes.budget 0 "
      "--probes.hessian-every 1 --probes.hessian-rows 600 --probes.hessian-tolerance 1e-12 --out ";
  for (const std::string signal : {"INT", "TERM"}) {
    CAPTURE(signal);
    const auto stopped = work.run_until(command + signal, signal + "/run.sqlite", signal);
    CHECK(stopped.status == 130);
    CHECK_THAT(
        stopped.err,
        Contains("Hessian window, ") && Contains("kappascope train --resume '" + signal + "'"));
    const RunReader run(work.path() / signal);
    CHECK(run.state() == "interrupted");
    const auto events = run.events();
    CHECK(std::any_of(events.begin(), events.end(), [](const auto& found) {
      return found.event.kind == "hessian_stopped";
    }));
  }
}

TEST_CASE(
    "Ctrl-C ends a Hessian window of a text while it is set up, and the run goes on as if not") {
  const Workplace work;
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "the quick brown fox ";
  kappascope::testing::write_bytes(work.path() / "text.txt", text);
  // Tables of 2,500 windows do not fit, so that products are differences, whose step is chosen by
  // some dozens of gradients of seconds each.
  const std::string command =
      "train --data text.txt --model.width 32 --model.hidden 64 --model.blocks 2 --model.heads 4 "
      "--train.batch 4 --train.threads 1 --train.steps 2 --probes.budget 0 "
      "--probes.hessian-rows 2500 --out run";
  const auto stopped = work.run_until(command, "run/run.sqlite");
  CHECK(stopped.status == 130);
  CHECK_THAT(stopped.err, Contains("Hessian window, setting up"));
  const auto events = RunReader(work.path() / "run").events();
  CHECK(std::any_of(events.begin(), events.end(), [](const auto& found) {
    return found.event.kind == "hessian_stopped" &&
           found.event.message.find("after 0 products") != std::string::npos;
  }));
}

TEST_CASE("the default Hessian of a text has exact products of a few windows") {
  const Workplace work;
  std::string text;
  for (int i = 0; i < 4'000; ++i) text += "the quick brown fox " + std::to_string(i * i % 997);
  kappascope::testing::write_bytes(work.path() / "text.txt", text);
  const std::string command =
      "train --data text.txt --model.width 16 --model.hidden 32 --model.blocks 1 --train.batch 4 "
      "--train.threads 1 --train.steps 2 --probes.budget 0 "
      "--probes.density false --probes.hessian-top 1 ";
  const auto lambda = [&](const std::string& more, const std::string& run) {
    const auto got = work.run(command + more + " --out " + run);
    REQUIRE(got.status == 0);
    const auto found = RunReader(work.path() / run).scalars({"hessian/lambda_1", ""});
    REQUIRE_FALSE(found.empty());
    return found.front().scalar;
  };
  const auto one = lambda("", "default");
  const auto eight = lambda("--probes.hessian-rows 8 --model.fused-attention false", "eight");
  CHECK(one.value == Approx(eight.value).epsilon(1e-3));  // weights after two steps of rounding
  CHECK(one.value - *one.lower < 0.01 * one.value);       // a difference's noise would be more
}

TEST_CASE("a loss that becomes NaN ends with exit 1, the step, and the state saved") {
  const Workplace work;
  const auto got = work.run(Workplace::train(
      "--train.steps 60 --train.optimizer sgd --train.learning-rate 1e18 --out run"));
  CHECK(got.status == 1);
  CHECK_THAT(got.err,
             Contains("at step") && Contains("checkpoints") && Contains("kappascope report 'run'"));
  CHECK(RunReader(work.path() / "run").state() == "failed");
  CHECK_FALSE(fs::is_empty(work.path() / "run/checkpoints"));
  const auto report = work.run("report run --out report.html");
  CHECK(report.status == 0);
  CHECK_THAT(kappascope::testing::slurp(work.path() / "report.html"), Contains("step"));
}

TEST_CASE("a run that is there is not overwritten, and a run in use is not written twice") {
  const Workplace work;
  REQUIRE(work.run(Workplace::train("--train.steps 5 --out run")).status == 0);
  const auto again = work.run(Workplace::train("--train.steps 5 --out run"));
  CHECK(again.status == 1);
  CHECK_THAT(again.err, Contains("--out") && Contains("--resume run"));
  CHECK(values(RunReader(work.path() / "run"), {"loss/train", ""}).size() == 5);
  const auto changed = work.run("train --resume run --model.width 9");
  CHECK(changed.status == 2);
  CHECK_THAT(changed.err, Contains("model.width"));
}

TEST_CASE("a disk that takes no more is one clear error, and what was written stays readable") {
  const Workplace work;
  // A limit on the size of any file stands for the disk; XFSZ ignored, a write fails with EFBIG.
  const auto got =
      work.run(Workplace::train("--train.steps 600 --train.checkpoint-every 4000 --out run"),
               "trap '' XFSZ; ulimit -f 400;");
  CHECK(got.status == 1);
  CHECK_THAT(got.err, Contains("kappascope: error: ") && Contains("run"));
  const RunReader run(work.path() / "run");
  CHECK(run.scalars({"loss/train", ""}).size() > 10);
}

TEST_CASE("a disk that fills up while a checkpoint is written is one clear error too") {
  const Workplace work;
  const auto got = work.run(
      "train --data data --model.width 256 --model.hidden 512 --train.batch 32 --train.steps 50 "
      "--train.checkpoint-every 1 --probes.hessian false --out run",
      "trap '' XFSZ; ulimit -f 1500;");
  CHECK(got.status == 1);
  CHECK_THAT(
      got.err,
      Contains("kappascope: error: cannot write run/checkpoints/step-") && Contains("resume"));
  CHECK(std::count(got.err.begin(), got.err.end(), '\n') <= 3);
  CHECK_FALSE(RunReader(work.path() / "run").scalars({"loss/train", ""}).empty());
  for (const auto& entry : fs::directory_iterator(work.path() / "run/checkpoints")) {
    CHECK(entry.path().extension() == ".safetensors");  // nothing half written stays
  }
}

TEST_CASE("checkpoints stay as they are asked to, and a finished run can be trained longer") {
  const Workplace work;
  const auto kept = [&](const std::string& run) {
    const auto& dir = work.path() / run / "checkpoints";
    return std::distance(fs::directory_iterator(dir), fs::directory_iterator());
  };
  const auto train = [&](const std::string& more) { return work.run(Workplace::train(more)); };
  REQUIRE(train("--train.steps 20 --out few").status == 0);
  CHECK(kept("few") == 3);
  REQUIRE(train("--train.steps 20 --train.keep-checkpoints 0 --out all").status == 0);
  CHECK(kept("all") == 10);
  CHECK(train("--train.keep-checkpoints -1").status == 2);
  CHECK(work.run("spectrum all --step 4 --top 1").status == 0);
  const auto absent = work.run("spectrum few --step 4");
  CHECK(absent.status == 1);
  CHECK_THAT(absent.err, Contains("step 4; there are those of 16, 18, 20"));

  const auto longer = work.run("train --resume few --train.steps 30");
  INFO(longer.err);
  REQUIRE(longer.status == 0);
  const RunReader run(work.path() / "few");
  CHECK(run.last_step() == 29);
  CHECK(run.fact("steps") == "30");
  CHECK_THAT(run.fact("config"), Contains("steps = 30"));
  CHECK(run.scalars({"loss/train", ""}).size() == 30);
  // Without a schedule it is what it would have been from the start.
  const std::string constant = "--train.schedule constant --train.steps ";
  REQUIRE(train(constant + "30 --out whole").status == 0);
  REQUIRE(train(constant + "20 --out parts").status == 0);
  REQUIRE(work.run("train --resume parts --train.steps 30").status == 0);
  const auto losses = [&](const char* name) {
    return values(RunReader(work.path() / name), {"loss/train", ""});
  };
  CHECK(losses("parts") == losses("whole"));
  const auto shorter = work.run("train --resume few --train.steps 10");
  CHECK(shorter.status == 2);
  CHECK_THAT(shorter.err, Contains("has trained 30 steps already"));
  CHECK(work.run("train --resume few --train.batch 10").status == 2);
}
