// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kappascope/store/run.h"
#include "support/catch.h"
#include "support/workplace.h"

using Catch::Contains;
using kappascope::testing::Workplace;
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("from training to report: every subcommand reads the run and says so to programs") {
  const Workplace work;
  kappascope::testing::write_bytes(
      work.path() / "c.ini",
      "label = <my> arm\n[model]\nbias = post-gating\nblocks = 2\nwidth = 6\nhidden = 10\n"
      "[train]\nsteps = 40\nbatch = 32\n[probes]\nevery = 10\nbudget = 0\n"
      "hessian-rows = 40\nhessian-every = 20\nhessian-top = 2\n");
  const auto trained =
      work.run("train --config c.ini --data data --out runs/a --train.steps 30 --json");
  REQUIRE(trained.status == 0);
  const auto result = json::parse(trained.out);
  CHECK(result["state"] == "finished");
  CHECK(result["steps"] == 30);  // the command line overrules the file
  CHECK_THAT(trained.err, Contains("step 30/30") && Contains("loss") && Contains("left"));

  const auto listed = json::parse(work.run("runs runs --json").out);
  CHECK(listed["state"] == "finished");
  CHECK(listed["label"] == "<my> arm");
  CHECK(listed["steps"] == 30);
  CHECK_THAT(work.run("runs runs").out, Contains("finished"));

  // The spectrum at the last checkpoint is the one that training saw.
  const auto spectrum = json::parse(work.run("spectrum runs/a --rows 40 --top 2 --tolerance 1e-5 "
                                             "--which both --trace --density --json")
                                        .out);
  CHECK(spectrum["status"] == "converged");
  REQUIRE(spectrum["eigenvalues"].size() == 4);
  CHECK(spectrum["eigenvalues"][0] >= spectrum["eigenvalues"][1]);
  CHECK(spectrum["trace"]["standard_error"] >= 0);
  CHECK(spectrum["bounds"][0] > spectrum["residuals"][0]);
  REQUIRE(spectrum["shares"].size() == 4);
  const auto top = json::parse(
      work.run("spectrum runs/a --rows 40 --top 2 --tolerance 1e-5 --which largest --json").out);
  REQUIRE(top["eigenvalues"].size() == 2);
  CHECK(top["eigenvalues"][0].get<double>() ==
        Approx(spectrum["eigenvalues"][0].get<double>()).epsilon(1e-4));
  CHECK(top["products"] < spectrum["products"]);
  double whole = 0;
  for (const auto& share : spectrum["shares"][0]) whole += share[1].get<double>();
  CHECK(whole == Approx(1));
  CHECK_THAT(work.run("spectrum runs/a --rows 40 --top 1").out,
             Contains("within its +- of an eigenvalue") && Contains("2 / learning rate"));
  CHECK(spectrum["density"]["grid"].size() == spectrum["density"]["density"].size());
  const auto block = json::parse(work.run("spectrum runs/a --rows 40 --operator ggn --block "
                                          "'blocks.*.down_proj.weight' --top 1 --which both --json")
                                     .out);
  CHECK(block["parameters"] == 2 * 6 * 10);
  CHECK(block["eigenvalues"][1] > -1e-5);  // Gauss-Newton has no negative eigenvalue but rounding

  const auto verified = work.run("verify P-P1g P-L2e --run runs/a --json");
  REQUIRE(verified.status == 0);
  std::istringstream lines(verified.out);
  int claims = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto verdict = json::parse(line);
    CHECK(verdict["outcome"] == "measured");
    ++claims;
  }
  CHECK(claims == 2);
  CHECK(kappascope::store::RunReader(work.path() / "runs/a").verdicts().size() == 2);

  REQUIRE(work.run("report runs/a --out page.html --figures figures --format svg").status == 0);
  const auto page = kappascope::testing::slurp(work.path() / "page.html");
  CHECK_THAT(page, Contains("&lt;my&gt; arm"));
  CHECK_FALSE(fs::is_empty(work.path() / "figures"));

  const auto csv = work.run("export runs/a --format csv");
  CHECK_THAT(csv.out,
             Contains("step,name,layer,value") && Contains("kappa/sigma,blocks.0.down_proj"));
  CHECK(work.run("export runs/a --format npz --out a.npz").status == 0);
  CHECK(fs::file_size(work.path() / "a.npz") > 1000);
}

TEST_CASE(
    "verify decides without a run, leaves out what needs one, and a refuted claim is a result") {
  const Workplace work;
  const auto list = work.run("verify --list");
  CHECK(list.status == 0);
  for (const auto* id : {"P-L2a", "P-L2e", "P-P1a", "P-P1g"}) CHECK_THAT(list.out, Contains(id));
  const auto one = work.run("verify P-P1f");
  CHECK(one.status == 0);
  CHECK_THAT(one.out, Contains("P-P1f") && Contains("refuted") && Contains("witness"));
  CHECK_THAT(one.out, !Contains("\nP-P1f'"));
  CHECK(work.run("verify p-p1F").out.substr(0, 60) == one.out.substr(0, 60));
  CHECK_THAT(work.run("verify P-P1").out, Contains("P-P1a") && Contains("P-P1f'"));
  const auto measured = work.run("verify P-P1g");
  CHECK(measured.status == 0);
  CHECK_THAT(measured.err, Contains("--run"));
}

TEST_CASE("verify without names is a table of all that needs no run, and its sum") {
  const Workplace work;
  const auto all = work.run("verify");
  REQUIRE(all.status == 0);
  CHECK_THAT(all.out, Contains("\nP-P1e      refuted ") && Contains("\nP-CENa     holds "));
  CHECK_THAT(all.out, Contains("--explain") && !Contains("P-P1g") && !Contains("undecided"));
  CHECK_THAT(all.err, Contains("--run RUN") && Contains("(1 of "));
  const auto lines = std::count(all.out.begin(), all.out.end(), '\n');
  CHECK(lines > 90);
  CHECK(lines < 150);
}

TEST_CASE("verify explains a claim for a reviewer") {
  const Workplace work;
  const auto refuted = work.run("verify P-P1e --explain");
  CHECK(refuted.status == 0);
  for (const auto* part : {"A.3",
                           "claimed       “",
                           "read as",
                           "verdict       Refuted",
                           "witness",
                           "decided by",
                           "corrected     P-P1e'",
                           "how sure",
                           "theory/families/proposition1.cpp"})
    CHECK_THAT(refuted.out, Contains(part));
  // The exact condition is printed once.
  const auto once = work.run("verify P-P1f --explain").out;
  CHECK(once.find("exactly when λ_d") == once.rfind("exactly when λ_d"));
  // What waits for a run, and what studies have decided.
  CHECK_THAT(work.run("verify P-P1g P-X1 --explain").out,
             Contains("verify --run RUN") && Contains("verdict       By studies: "));
}

TEST_CASE("verify tells a verdict that is not the expected one by its exit status") {
  const Workplace work;
  const auto good = work.run("verify P-P1e P-P1c --json").out;
  std::ofstream(work.path() / "ledger.json") << good;
  CHECK(work.run("verify P-P1e P-P1c --expect ledger.json").status == 0);
  const auto lacking = work.run("verify P-P1d --expect ledger.json");
  CHECK(lacking.status == 3);
  CHECK_THAT(lacking.out, Contains("P-P1d: refuted, not in ledger.json"));
  auto changed = good;
  changed.replace(changed.find("refuted"), 7, "holds");
  std::ofstream(work.path() / "ledger.json") << changed;
  const auto other = work.run("verify P-P1e P-P1c --expect ledger.json");
  CHECK(other.status == 3);
  CHECK_THAT(other.out, Contains("P-P1e: expected holds, found refuted"));
  std::ofstream(work.path() / "ledger.json") << "{}";
  CHECK(work.run("verify P-P1e --expect ledger.json").status == 2);
  CHECK(work.run("verify P-P1e --expect nothing.json").status == 2);
}
