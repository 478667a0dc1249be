// SPDX-License-Identifier: Apache-2.0
// Alarms of the trainer: in the run, in the terminal, as a reason to stop; and judged afterwards.
#include "kappascope/store/schema/alarms.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>

#include "kappascope/store/run.h"
#include "program.h"
#include "support/catch.h"

using Catch::Contains;
using kappascope::store::AlarmId;
using kappascope::store::RunReader;
using kappascope::testing::Workplace;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// Steps and alarms of a run.
std::vector<std::pair<std::int64_t, AlarmId>> alarms_of(const fs::path& dir) {
  std::vector<std::pair<std::int64_t, AlarmId>> out;
  for (const auto& [step, time, event] : RunReader(dir).events()) {
    if (const auto id = kappascope::store::alarm_of_kind(event.kind)) out.emplace_back(step, *id);
  }
  return out;
}

bool holds(const std::vector<std::pair<std::int64_t, AlarmId>>& alarms, AlarmId id) {
  return std::ranges::any_of(alarms, [id](const auto& each) { return each.second == id; });
}

/// A rate at which the loss leaves the numbers within some steps.
const std::string kDiverging =
    "--train.steps 60 --train.optimizer sgd --train.learning-rate 1e18 --out run";

}  // namespace

TEST_CASE("a run that diverges has its alarms as events, lines and marks on the page") {
  const Workplace work;
  const auto got = work.run(Workplace::train(kDiverging));
  CHECK(got.status == 1);
  CHECK_THAT(got.err, Contains("alarm ") && Contains("before it the loss was"));
  CHECK(holds(alarms_of(work.path() / "run"), AlarmId::kNonFinite));
  REQUIRE(work.run("report run --out page.html").status == 0);
  const auto page = kappascope::testing::slurp(work.path() / "page.html");
  CHECK_THAT(page,
             Contains("\"marks\":[{\"arm\":0,\"label\":\"alarm ") &&
                 Contains("Marks on the upper edge: steps that raised an alarm") &&
                 Contains("alarm non_finite") && Contains("A description, not a warning"));
}

TEST_CASE("an alarm stops the training that asks for it, and the run goes on from there") {
  const Workplace work;
  const std::string settings = "--train.steps 120 --train.learning-rate 3e-2 ";
  REQUIRE(work.run(Workplace::train(settings + "--out whole")).status == 0);
  const auto all = alarms_of(work.path() / "whole");
  REQUIRE_FALSE(all.empty());
  const auto [step, id] = all.front();
  const std::string name(kappascope::store::info_of(id).name);
  REQUIRE(step < 119);
  const auto got =
      work.run(Workplace::train(settings + "--out run --json --stop-on non_finite," + name));
  CAPTURE(got.err);
  CHECK(got.status == 130);
  const auto out = json::parse(got.out);
  CHECK(out["state"] == "interrupted");
  CHECK(out["alarm"] == name);
  CHECK(out["steps"] == step + 1);
  CHECK_THAT(got.err, Contains("by the alarm " + name) && Contains("--resume 'run'"));
  // Resumed without a reason to stop: the alarms of the whole run, each once.
  REQUIRE(work.run("train --resume run").status == 0);
  CHECK(alarms_of(work.path() / "run") == all);
  const auto wrong = work.run(Workplace::train("--stop-on kapa --out no"));
  CHECK(wrong.status == 2);
  CHECK_THAT(wrong.err, Contains("'kapa' is no alarm; there are kappa, "));
  CHECK_THAT(work.run("train --help").out,
             Contains("--stop-on ALARMS") && Contains("gradient_norm"));
}

TEST_CASE("alarms are judged on stored runs, by today's rules") {
  const Workplace work;
  fs::create_directories(work.path() / "runs");
  for (const auto* seed : {"1", "2"}) {
    REQUIRE(work.run(Workplace::train("--train.steps 120 --train.learning-rate 3e-2 --train.seed " +
                                      std::string(seed) + " --out runs/" + seed))
                .status == 0);
  }
  const auto got = work.run("alarms runs --json");
  CAPTURE(got.err);
  REQUIRE(got.status == 0);
  const auto out = json::parse(got.out);
  REQUIRE(out["groups"].size() == 2);
  CHECK(out["groups"][0]["group"] == "runs");
  CHECK(out["groups"][1]["trainings"] == 2);
  // No more than the runs raised while they trained, from the first step on that can be told; those
  // of several layers in one step are one.
  std::set<std::tuple<std::string, std::int64_t, AlarmId>> told;
  for (const auto* seed : {"1", "2"}) {
    for (const auto& [step, id] : alarms_of(work.path() / "runs" / seed))
      if (step >= 50) told.emplace(seed, step, id);
  }
  std::size_t judged = 0;
  for (const auto& rule : out["groups"][1]["rules"]) {
    if (kappascope::store::find_alarm(rule["rule"].get<std::string>()))
      judged += rule["alarms"].get<std::size_t>();
  }
  CHECK(judged <= told.size());
  REQUIRE(work.run("alarms runs --out ALARMS.md").status == 0);
  CHECK_THAT(kappascope::testing::slurp(work.path() / "ALARMS.md"),
             Contains("# What the alarms are worth") &&
                 Contains("| gradient_norm | description |") &&
                 Contains("| loss rose by 2 deviations | plain rule |") &&
                 Contains("Does κ lead, follow, or neither?"));
  CHECK(work.run("alarms runs --horizon 0").status == 2);
  CHECK(work.run("alarms nowhere").status == 1);
}
