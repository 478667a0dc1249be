// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "support/catch.h"
#include "support/workplace.h"

using kappascope::testing::Workplace;
namespace fs = std::filesystem;

TEST_CASE("a study at the paper's size is planned without its data and without training") {
  const Workplace work;
  // One of each kind of model; experiments/plan-paper plans them all.
  for (const char* study : {"asger-ablation", "pgb-gemma3", "pgb-vitvae", "hessian-evolution"}) {
    CAPTURE(study);
    const auto file = fs::path(KAPPASCOPE_EXPERIMENTS) / "paper" / (std::string(study) + ".ini");
    // CelebA's training part. Not every processor multiplies in 16 bits: there these passes would
    // take minutes (tests/lab/train/plan_test.cpp plans in bf16).
    const auto planned = work.run("sweep '" + file.string() +
                                  "' --plan --plan-device h100 --plan-rows 162770 --json "
                                  "--set train.threads=1 --set train.precision=float32");
    CAPTURE(planned.err);
    REQUIRE(planned.status == 0);
    const auto plan = nlohmann::json::parse(planned.out);
    CHECK(plan["hours"].is_null());  // no such device was timed
    REQUIRE_FALSE(plan["plans"].empty());
    std::size_t runs = 0;
    for (const auto& arm : plan["plans"]) {
      CHECK(arm["parameters"].get<double>() > 1000);
      CHECK(arm["memory"]["total"].get<double>() > arm["memory"]["weights"].get<double>());
      CHECK(arm["memory"]["total"].get<double>() < arm["room"].get<double>());
      runs += arm["runs"].get<std::size_t>();
    }
    CHECK(runs == plan["runs"].get<std::size_t>());
  }
}

TEST_CASE("a study takes no number of devices: each of its runs uses one") {
  const Workplace work;
  const auto file = fs::path(KAPPASCOPE_EXPERIMENTS) / "paper/pgb-mlp-mnist-2x64.ini";
  for (const char* devices : {"0", "2"}) {
    const auto plan = work.run("sweep '" + file.string() + "' --plan --plan-device h100 --json " +
                               "--plan-rows 60000 --plan-devices " + devices);
    CHECK(plan.status == 2);
    CHECK_THAT(plan.err, Catch::Contains("each run of a study uses one device"));
  }
}

TEST_CASE("train --plan tells memory and hours and writes no run") {
  const Workplace work;
  const std::string model =
      "train --plan --data /nowhere/x --model.kind language --data.vocabulary 300 --train.steps 5";
  const auto text = work.run(model);
  CAPTURE(text.err);
  CHECK(text.status == 0);
  CHECK_THAT(text.out, Catch::Contains("memory at the peak") && Catch::Contains("here:"));
  CHECK_THAT(text.out, Catch::Contains("warning") && Catch::Contains("are not here"));
  CHECK_FALSE(fs::exists(work.path() / "runs"));
  // A spectrum is planned too: on as many windows as predict 1,024 tokens, unless it is said.
  CHECK_THAT(text.out,
             Catch::Contains("a spectrum, at least") && Catch::Contains("the graph of 8 rows"));
  for (const auto& [words, rows] : {std::pair(" --data.context 512", "2"),
                                    {" --data.context 4096", "1"},
                                    {" --probes.hessian-rows 5", "5"}})
    CHECK_THAT(work.run(model + words).out,
               Catch::Contains("the graph of " + std::string(rows) + " rows"));
  const auto seconds = [&](const std::string& words) {
    const auto json = nlohmann::json::parse(work.run(model + " --json " + words).out);
    return json["hessian_seconds"].get<double>() / json["seconds_per_step"].get<double>();
  };
  CHECK(seconds("--probes.hessian false") == 0);
  CHECK(seconds("--probes.hessian-rows 800") == Approx(100 * seconds("--probes.hessian-rows 8")));
  CHECK_THAT(work.run(model + " --probes.hessian-rows 100000").out,
             Catch::Contains("no spectrum") && Catch::Contains("probes.hessian-rows = "));
  const auto refused = work.run(model + " --plan-device abacus");
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Catch::Contains("h100"));
  // A word of a plan begins no training, and plans no part of what it names.
  for (const char* word : {"--plan-device h100", "--plan-devices 2", "--plan-rows 9"}) {
    const auto alone = work.run("train --data /nowhere/x " + std::string(word));
    CHECK(alone.status == 2);
    CHECK_THAT(alone.err, Catch::Contains("go with --plan"));
  }
  CHECK_THAT(work.run(model + " --plan-devices 2").err, Catch::Contains("needs --plan-device"));
}
