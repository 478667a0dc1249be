// SPDX-License-Identifier: Apache-2.0
// What a sweep can know before its first step, and whose runs a study's are.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "kappascope/store/run.h"
#include "store/database/writer_lock.h"
#include "support/catch.h"
#include "support/workplace.h"

using Catch::Contains;
using kappascope::testing::Workplace;
using kappascope::testing::write_bytes;
namespace fs = std::filesystem;

namespace {

constexpr const char* kBase =
    "[data]\npath = data\n[model]\nwidth = 6\nhidden = 8\nblocks = 1\n"
    "[train]\nsteps = 8\nbatch = 32\nthreads = 1\n"
    "[probes]\nhessian = false\ngradient-variance = false\n";
constexpr const char* kArms = "[arms]\nno bias = model.bias=none\nPGB = model.bias=post-gating\n";

void write_study(const Workplace& work, const std::string& text) {
  write_bytes(work.path() / "study.ini", kBase + text);
}

std::ptrdiff_t lines(const std::string& text, const std::string& with) {
  std::ptrdiff_t count = 0;
  for (auto at = text.find(with); at != std::string::npos; at = text.find(with, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE(
    "what a study's runs would not record, or would train twice, is refused before any step") {
  const Workplace work;
  const auto refused = [&](const std::string& text, const std::string& why) {
    write_study(work, text);
    const auto got = work.run("sweep study.ini");
    CAPTURE(text, got.err);
    CHECK(got.status == 2);
    CHECK_THAT(got.err, Contains(why));
    CHECK_FALSE(fs::exists(work.path() / "runs"));
  };
  const auto compared = [&](const std::string& metric, const std::string& more = "") {
    return kArms + more + "[study]\nmetrics = loss/test " + metric + "\n";
  };
  refused(compared("hessian/lambda_1"), "probes.hessian is false");
  refused(compared("edge/share"), "probes.hessian is false");
  refused(compared("gradvar/measured@median"), "probes.gradient-variance is false");
  refused(compared("kappa/sigma", "[probes]\nfeatures = false\n"), "probes.features is false");
  refused(compared("spikes/kappa", "[probes]\nfeatures = false\n"), "probes.features is false");
  refused(compared("bias/cos"), "model.bias is none");
  refused(compared("accuracy/pgd"), "attack.rows is 0");
  refused(compared("spectrum/hessian/*/lambda_1"), "only `kappascope spectrum`");
  refused(compared("accuracy/test", "[model]\nkind = language\n"), "model.kind is language");
  refused(std::string(kArms) + "[grid]\nmodel.dropout = 0 0.0\n", "would be the same training");
  write_study(work, std::string(kArms) + "again = model.bias=none\n");
  CHECK_THAT(work.run("sweep study.ini --list").err,
             Contains("no-bias_seed-1 and again_seed-1 would be the same training"));
}

TEST_CASE("a sweep trains the seeds that are listed, in the file or for one call") {
  const Workplace work;
  write_study(work, std::string(kArms) + "[study]\nseeds = 3 7\n");
  CHECK(work.run("sweep study.ini --list").out ==
        "no-bias_seed-3\nPGB_seed-3\nno-bias_seed-7\nPGB_seed-7\n");
  CHECK(work.run("sweep study.ini --list --seeds '2 5-6'").out ==
        "no-bias_seed-2\nPGB_seed-2\nno-bias_seed-5\nPGB_seed-5\nno-bias_seed-6\nPGB_seed-6\n");
  CHECK(work.run("sweep study.ini --list --seeds 0").status == 2);
  REQUIRE(work.run("sweep study.ini --seeds '7 9'").status == 0);
  CHECK(kappascope::store::RunReader(work.path() / "runs/study/PGB_seed-9").fact("seed") == "9");
}

TEST_CASE("two sweeps on one folder are refused, and changed settings are told once") {
  const Workplace work;
  write_study(work, std::string(kArms) + "[study]\nseeds = 4\n");
  fs::create_directories(work.path() / "runs/study");
  {
    const kappascope::store::WriterLock lock(work.path() / "runs/study", "study");
    const auto second = work.run("sweep study.ini");
    CHECK(second.status == 1);
    CHECK_THAT(second.err, Contains("runs/study: it is being written by process"));
    CHECK_FALSE(fs::exists(work.path() / "runs/study/PGB_seed-1"));
  }
  REQUIRE(work.run("sweep study.ini").status == 0);
  const auto changed = work.run("sweep study.ini --set train.learning-rate=0.5");
  CHECK(changed.status == 1);
  // Once of the runs, once of the command.
  CHECK(lines(changed.err, "other settings") == 2);
  CHECK_THAT(changed.err, Contains("8 runs, ") && Contains(" and 5 more, failed: made with"));
}

TEST_CASE("a comparison is of the study's own runs, and its p of what is compared") {
  const Workplace work;
  write_study(work, std::string(kArms) + "[study]\nseeds = 3\n");
  REQUIRE(work.run("sweep study.ini").status == 0);
  const auto compare = [&](const std::string& more) {
    const auto got = work.run("compare runs/study --json" + more);
    REQUIRE(got.status == 0);
    return nlohmann::json::parse(got.out);
  };
  // Two comparisons where the study made one.
  const auto two = compare(" --metric loss/test --metric accuracy/test");
  REQUIRE(two.size() == 2);
  const auto p = [](const nlohmann::json& c) { return c["p"].get<double>(); };
  const auto corrected = [](const nlohmann::json& c) { return c["p_holm"].get<double>(); };
  const bool first = p(two[0]) <= p(two[1]);
  CHECK(corrected(two[first ? 0 : 1]) == Approx(std::min(1.0, 2 * p(two[first ? 0 : 1]))));
  CHECK_THAT(work.run("compare runs/study").out, Contains("corrected for all comparisons above"));

  auto text = kappascope::testing::slurp(work.path() / "study.ini");
  text.replace(text.find("PGB ="), 3, "bias");
  write_bytes(work.path() / "study.ini", text);
  REQUIRE(work.run("sweep study.ini").status == 0);
  const auto again = compare("");
  REQUIRE(again.size() == 1);
  CHECK(again[0]["arm"] == "bias");
  CHECK_THAT(work.run("compare runs/study/").err, Contains("3 runs in runs/study/ are left out"));
}
