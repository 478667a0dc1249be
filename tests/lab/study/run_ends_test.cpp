// SPDX-License-Identifier: Apache-2.0
#include "lab/study/run_ends.h"

#include <cmath>
#include <string>

#include "core/temporary_folder.h"
#include "kappascope/core/error.h"
#include "kappascope/store/run.h"
#include "lab/study/metrics.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::study;
using store::RunWriter;

namespace {

RunWriter run_of(const std::filesystem::path& dir,
                 const std::string& arm,
                 const std::string& seed) {
  return RunWriter::create(dir,
                           {{"label", arm},
                            {"seed", seed},
                            {"condition", "rate 1"},
                            {"data", "somewhere/mnist (60000 images, 1/2 of them)"}});
}

double value(const RunEnd& end, const std::string& name) {
  REQUIRE(end.values.contains(name));
  return end.values.at(name).value;
}

}  // namespace

TEST_CASE("the end of a run: last values, medians over layers and steps") {
  const TemporaryFolder folder;
  {
    auto run = run_of(folder.path() / "a", "PGB", "3");
    for (std::int64_t step = 0; step < 5; ++step) {
      const auto s = static_cast<double>(step);
      run.write(
          {.step = step,
           .scalars = {
               {.name = "loss/test", .value = 10 - s * s},
               {.name = "kappa/sigma", .layer = "blocks.0", .value = 1 + s, .status = "resolved"},
               {.name = "kappa/sigma", .layer = "blocks.1", .value = 100, .status = "resolved"},
               {.name = "kappa/sigma", .layer = "blocks.2", .value = 2 + s, .status = "resolved"},
               {.name = "hessian/lambda_1", .value = s, .status = "converged"}}});
    }
    run.write({.step = 5,
               .scalars = {{.name = "hessian/lambda_1", .value = 9, .status = "max_products"}}});
    run.set_state("finished");
  }
  const auto ends = read_run_ends({folder.path()});
  REQUIRE(ends.size() == 1);
  const auto& end = ends.front();
  CHECK(end.arm == "PGB");
  CHECK(end.seed == "3");
  CHECK(end.condition == "rate 1");
  CHECK(end.state == "finished");
  CHECK(end.fact("label") == "PGB");
  CHECK(end.data() == "mnist (60000 images, 1/2 of them)");
  CHECK(value(end, "loss/test") == -6);
  CHECK(end.values.at("loss/test").step == 4);
  CHECK(value(end, "loss/test@median") == 6);
  CHECK(value(end, "kappa/sigma") == 6);         // of 5, 6 and 100
  CHECK(value(end, "kappa/sigma@median") == 4);  // of 2 ... 6
  // What did not converge is not used, nor a median that would leave it out.
  CHECK(std::isnan(value(end, "hessian/lambda_1")));
  CHECK(std::isnan(value(end, "hessian/lambda_1@median")));
  CHECK_FALSE(end.values.contains("spikes/count"));
}

TEST_CASE("a measurement belongs to a spike that is 50 steps away at most, on either side") {
  // The spike begins at step 150.
  for (const auto& [before, after, belongs] :
       {std::tuple(100, 200, true), std::tuple(99, 200, false), std::tuple(100, 201, false)}) {
    CAPTURE(before, after);
    const TemporaryFolder folder;
    {
      auto run = run_of(folder.path() / "run", "a", "1");
      for (std::int64_t step = 0; step < 220; ++step) {
        const double noise = step % 2 == 0 ? 0.01 : -0.01;
        store::Snapshot snapshot{.step = step};
        snapshot.scalars.push_back(
            {.name = "loss/train", .value = (step >= 150 && step < 160 ? 3 : 1) + noise});
        if (step == before || step == after)
          snapshot.scalars.push_back({.name = "kappa/sigma",
                                      .layer = "b",
                                      .value = step < 150 ? 5.0 : 10.0,
                                      .status = "resolved"});
        run.write(snapshot);
      }
    }
    const auto ends = read_run_ends({folder.path() / "run"});
    REQUIRE(ends.size() == 1);
    const double change = value(ends[0], "spikes/kappa");
    CHECK((belongs ? change == 2 : std::isnan(change)));
  }
}

TEST_CASE("spikes of the loss and explosions of the gradient are counted") {
  const TemporaryFolder folder;
  {
    auto calm = run_of(folder.path() / "calm", "a", "1");
    auto wild = run_of(folder.path() / "wild", "b", "1");
    for (std::int64_t step = 0; step < 200; ++step) {
      const double noise = step % 2 == 0 ? 0.01 : -0.01;
      const bool spike = step >= 150 && step < 160;
      calm.write({.step = step,
                  .scalars = {{.name = "loss/train", .value = 1 + noise},
                              {.name = "gradient_norm", .value = step == 49 ? 7.0 : 2.0}}});
      wild.write({.step = step,
                  .scalars = {{.name = "loss/train", .value = (spike ? 3 : 1) + noise},
                              {.name = "gradient_norm", .value = spike ? 20.0 : 2.0}}});
      if (step % 20 == 0) {
        calm.write(
            {.step = step,
             .scalars = {{.name = "kappa/sigma", .layer = "b", .value = 5, .status = "resolved"}}});
        // Measured at 140 and at 160, which is the first from the spike's begin on.
        const double kappa = step < 150 ? 5 : 20;
        wild.write(
            {.step = step,
             .scalars = {
                 {.name = "kappa/sigma", .layer = "b", .value = kappa, .status = "resolved"}}});
      }
    }
  }
  const auto ends = read_run_ends({folder.path() / "calm", folder.path() / "wild"});
  REQUIRE(ends.size() == 2);
  CHECK(value(ends[0], "spikes/count") == 0);
  CHECK(value(ends[0], "spikes/steps") == 0);
  CHECK(std::isnan(value(ends[0], "spikes/length")));
  CHECK(std::isnan(value(ends[0], "spikes/first")));
  CHECK(std::isnan(value(ends[0], "spikes/kappa")));
  CHECK(value(ends[0], "explosions/share") == 0);
  CHECK(value(ends[0], "explosions/largest") == 7);
  CHECK(value(ends[0], "loss/train@variance") == Approx(2e-4));  // ±0.01 in turn
  CHECK(value(ends[1], "spikes/count") == 1);
  CHECK(value(ends[1], "spikes/steps") == 10);
  CHECK(value(ends[1], "spikes/share") == Approx(0.05));
  CHECK(value(ends[1], "spikes/length") == 10);
  CHECK(value(ends[1], "spikes/height") == Approx(3).epsilon(0.03));
  CHECK(value(ends[1], "spikes/first") == 150);
  CHECK(value(ends[1], "spikes/kappa") == 4);
  CHECK(value(ends[1], "explosions/share") == Approx(10.0 / 150));
  CHECK(value(ends[1], "explosions/largest") == 2);  // of the first 50 steps
}

TEST_CASE("every quantity that is read from a run may be named as a metric") {
  const TemporaryFolder folder;
  {
    auto run = run_of(folder.path() / "a", "a", "1");
    for (std::int64_t step = 0; step < 200; ++step) {
      const bool high = step >= 150 && step < 160;
      std::vector<store::Scalar> scalars = {
          {.name = "loss/train", .value = high ? 3.0 : 1.0},
          {.name = "gradient_norm", .value = 2},
          {.name = "user/mine", .value = 2},
          {.name = "hessian/preconditioned", .value = 40, .status = "converged"},
          {.name = "hessian/stability_limit", .value = 38},
          {.name = "hessian/lambda_3", .value = 3, .status = "converged"},
          {.name = "cost/total", .value = 0.1}};
      scalars.push_back({.name = "kappa/sigma", .layer = "b", .value = 5, .status = "resolved"});
      scalars.push_back({.name = "features/effective_rank", .layer = "b", .value = 5});
      run.write({.step = step, .scalars = scalars});
    }
  }
  const auto ends = read_run_ends({folder.path()});
  for (const auto& [name, value] : ends.front().values) {
    CAPTURE(name);
    CHECK(is_metric(name));
  }
  CHECK(ends.front().values.size() > 25);
  CHECK(ends.front().values.contains("spikes/effective_rank"));
  CHECK_FALSE(is_metric("spikes/none"));
}

TEST_CASE("a folder gives its runs in order, and the result of a sweep is none of them") {
  const TemporaryFolder folder;
  run_of(folder.path() / "runs/b", "x", "1");
  run_of(folder.path() / "runs/a", "y", "1");
  RunWriter::create(folder.path() / "runs/study", {{"kind", "study"}});
  const auto ends = read_run_ends({folder.path() / "runs"});
  REQUIRE(ends.size() == 2);
  CHECK(ends[0].arm == "y");
  CHECK(ends[1].arm == "x");
  CHECK_THROWS_AS(read_run_ends({folder.path() / "nothing"}), Error);
  CHECK_THROWS_AS(read_run_ends({folder.path()}), Error);
  RunWriter::create(folder.path() / "only/study", {{"kind", "study"}});
  CHECK_THROWS_AS(read_run_ends({folder.path() / "only"}), Error);
}

TEST_CASE("the sharpness that the optimiser sees against its limit, before and from the edge on") {
  const TemporaryFolder folder;
  {
    auto run = run_of(folder.path() / "a", "a", "1");
    const std::vector<double> shares = {0.2, 0.6, 0.99, 1.05, 1.5, 1.1, 0.95};
    for (std::size_t i = 0; i < shares.size(); ++i) {
      run.write(
          {.step = static_cast<std::int64_t>(10 * i),
           .scalars = {
               {.name = "hessian/preconditioned", .value = 38 * shares[i], .status = "converged"},
               {.name = "hessian/stability_limit", .value = 38}}});
    }
    run.write({.step = 70,
               .scalars = {{.name = "hessian/preconditioned", .value = 1, .status = "converged"}}});
    run.write({.step = 80,
               .scalars = {{.name = "hessian/preconditioned", .value = 90, .status = "uncertified"},
                           {.name = "hessian/stability_limit", .value = 38}}});
    run.set_state("finished");
    auto below = run_of(folder.path() / "b", "b", "1");
    below.write({.step = 0,
                 .scalars = {{.name = "hessian/preconditioned", .value = 5, .status = "converged"},
                             {.name = "hessian/stability_limit", .value = 38}}});
    below.set_state("finished");
    auto from_start = run_of(folder.path() / "c", "c", "1");
    from_start.write(
        {.step = 0,
         .scalars = {{.name = "hessian/preconditioned", .value = 42, .status = "converged"},
                     {.name = "hessian/stability_limit", .value = 38}}});
    from_start.set_state("finished");
  }
  const auto ends = read_run_ends({folder.path()});
  CHECK(value(ends[0], "edge/start") == Approx(0.2));
  CHECK(value(ends[0], "edge/first") == 30);
  CHECK(value(ends[0], "edge/share") == Approx((1.05 + 1.1) / 2));  // of 1.05, 1.5, 1.1, 0.95
  CHECK(value(ends[0], "edge/within") == Approx(0.75));
  CHECK(ends[0].values.at("edge/share").step == 80);  // measured, though not to be used
  CHECK(std::isnan(value(ends[1], "edge/first")));
  CHECK(std::isnan(value(ends[1], "edge/share")));
  CHECK(std::isnan(value(ends[1], "edge/within")));
  CHECK(value(ends[2], "edge/first") == 0);
  CHECK(value(ends[2], "edge/within") == 1);
}
