// SPDX-License-Identifier: Apache-2.0
// What another program takes away while a run is written, as the one who trains meets it.
#include <filesystem>
#include <string>

#include "kappascope/store/run.h"
#include "support/catch.h"
#include "support/workplace.h"

using Catch::Contains;
using kappascope::store::RunReader;
using kappascope::testing::slurp;
using kappascope::testing::Workplace;
using kappascope::testing::write_bytes;
namespace fs = std::filesystem;

namespace {

/// A shell prefix: does `deed` as soon as `file` exists, while the program runs on.
std::string meanwhile(const std::string& file, const std::string& deed) {
  return R"(bash -c 'file=$1; deed=$2; shift 2; "$@" & )"
         R"(while [ ! -e "$file" ] && kill -0 $!; do sleep 0.01; done; $deed; wait $!' _ ')" +
         file + "' '" + deed + "'";
}

}  // namespace

TEST_CASE("a run whose folder is taken away ends with an error, and nothing of it is lost") {
  const Workplace work;
  const std::string settings = "--train.steps 150 --train.checkpoint-every 15 ";
  REQUIRE(work.run(Workplace::train(settings + "--out whole")).status == 0);
  for (const std::string deed : {"rm -rf run", "mv run moved"}) {
    CAPTURE(deed);
    const auto lost =
        work.run(Workplace::train(settings + "--out run"), meanwhile("run/checkpoints", deed));
    INFO(lost.err);
    CHECK(lost.status == 1);
    CHECK_THAT(lost.err,
               Contains("kappascope: error: run/run.sqlite was removed or replaced") &&
                   Contains("continue with: kappascope train --resume 'run-rescued'"));
    CHECK(work.run("check run-rescued").status == 0);
    CHECK(RunReader(work.path() / "run-rescued").state() == "interrupted");
    REQUIRE(work.run("train --resume run-rescued").status == 0);
    const fs::path last = "checkpoints/step-00000150.safetensors";
    CHECK(slurp(work.path() / "run-rescued" / last) == slurp(work.path() / "whole" / last));
    fs::remove_all(work.path() / "run-rescued");
    fs::remove_all(work.path() / "run");
  }
}

TEST_CASE("a sweep says which run was taken away, and goes on from what is left of it") {
  const Workplace work;
  write_bytes(work.path() / "study.ini",
              "[data]\npath = data\n[model]\nwidth = 6\nhidden = 8\nblocks = 1\n"
              "[train]\nsteps = 150\nbatch = 32\nthreads = 1\ncheckpoint-every = 15\n"
              "[probes]\nhessian = false\ngradient-variance = false\n[study]\nseeds = 1\n"
              "[arms]\nnone = model.bias=none\nPGB = model.bias=post-gating\n");
  const fs::path run = "runs/study/PGB_seed-1";
  const auto copy = run.string() + "-rescued";
  const auto lost =
      work.run("sweep study.ini",
               meanwhile((run / "checkpoints").string(), "mv " + run.string() + " taken"));
  CHECK(lost.status == 1);
  CHECK_THAT(lost.err, Contains("PGB_seed-1 failed") && Contains("removed or replaced"));
  const auto again = work.run("sweep study.ini");
  CHECK(again.status == 1);
  CHECK_THAT(again.err, Contains(copy) && Contains("rename it to " + run.string()));
  fs::rename(work.path() / copy, work.path() / run);
  CHECK(work.run("sweep study.ini").status == 0);
  CHECK(RunReader(work.path() / run).state() == "finished");
  CHECK(RunReader(work.path() / run).scalars({"loss/train", ""}).size() == 150);
  CHECK(work.run("compare runs/study").status == 0);
}
