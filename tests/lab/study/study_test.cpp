// SPDX-License-Identifier: Apache-2.0
#include "lab/study/study.h"

#include <stdexcept>

#include "core/temporary_folder.h"
#include "kappascope/core/error.h"
#include "kappascope/store/run.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::study;
using Catch::Contains;

namespace {

const StudyDefinition kDefinition = {
    .name = "s",
    .claims = {"C"},
    .seeds = first_seeds(4),
    .arms = {{"control", {{"shift", "0"}}}, {"shifted", {{"shift", "0.5"}}}}};

/// A training whose loss ends at the seed plus the arm's shift, give or take a little.
void train(const StudyRun& run) {
  auto store = begin_run(run);
  const double shift = std::stod(run.settings.back().second);
  const double noise = run.arm == "shifted" && run.seed % 2 == 0 ? 0.01 : 0;
  for (std::int64_t step = 0; step < 3; ++step) {
    const auto left = static_cast<double>(2 - step);
    store.write({.step = step,
                 .scalars = {{.name = "loss/test",
                              .value = static_cast<double>(run.seed) + shift + noise + left}}});
  }
  store.set_state("finished");
}

}  // namespace

TEST_CASE("a study of a callback: runs are trained, paired, decided and stored") {
  const TemporaryFolder folder;
  StudyOptions options{.folder = folder.path(), .command = "my program"};
  options.decide = [](const StudyDefinition& definition, const std::vector<RunEnd>& runs) {
    ClaimVerdict verdict{.claim = definition.claims.front(), .statement = "it shifts"};
    verdict.verdict.outcome = Outcome::kHoldsUnder;
    verdict.verdict.cases = std::ssize(runs);
    return std::vector{verdict};
  };
  int trained = 0;
  const auto counting = [&](const StudyRun& run) {
    ++trained;
    train(run);
  };
  const auto [result, failures] = run_study(kDefinition, counting, options);
  CHECK(trained == 8);
  CHECK(failures.empty());
  CHECK(result.name == "s");
  CHECK(result.command == "my program");
  CHECK(result.runs == 8);
  CHECK(result.ended == 8);
  CHECK(result.seeds == 4);
  CHECK(result.control() == "control");
  REQUIRE(result.comparisons.size() == 1);
  const auto& c = result.comparisons.front();
  CHECK(c.arm == "shifted");
  CHECK(c.difference.pairs == 4);
  CHECK(c.difference.mean == Approx(0.505));
  CHECK(c.is_significant());
  CHECK(c.corrected_p == c.difference.p);  // the only one of its table
  CHECK(result.definition == fingerprint(kDefinition));
  REQUIRE(result.verdicts.size() == 1);
  CHECK(result.verdicts[0].study == "s");

  // The result is a store beside the runs, which reads back as the same value.
  CHECK(result_json(read_result(folder.path())) == result_json(result));
  const auto rows = store::RunReader(folder.path() / "study").verdicts();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].claim == "C");
  CHECK(rows[0].outcome == "holds under a condition");

  // Again: nothing is left to train, and the result is the same.
  const auto again = run_study(kDefinition, counting, options);
  CHECK(trained == 8);
  CHECK(result_json(again.result) == result_json(result));
}

TEST_CASE("a run that fails is named and tried again, a diverged one is counted") {
  const TemporaryFolder folder;
  bool broken = true;
  const auto sometimes = [&](const StudyRun& run) {
    if (run.name == "shifted_seed-2" && broken) {
      auto store = begin_run(run);
      store.write({.step = 0, .scalars = {{.name = "loss/test", .value = 77}}});
      throw std::runtime_error("the disk is full");
    }
    if (run.name == "shifted_seed-3") {
      begin_run(run).set_state("failed");
      return;
    }
    if (run.name == "control_seed-4" && broken) return;  // leaves nothing
    train(run);
  };
  const StudyOptions options{.folder = folder.path()};
  const auto first = run_study(kDefinition, sometimes, options);
  REQUIRE(first.failures.size() == 2);
  CHECK(first.failures[0].run == "shifted_seed-2");
  CHECK(first.failures[0].why == "the disk is full");
  CHECK_THAT(first.failures[1].why, Contains("no run store"));
  CHECK(first.result.ended == 6);
  CHECK(first.result.arms[1].diverged == 1);
  CHECK(first.result.comparisons.front().difference.pairs == 1);
  CHECK(first.result.comparisons.front().difference.left_out == 1);

  broken = false;
  const auto second = run_study(kDefinition, sometimes, options);
  CHECK(second.failures.empty());
  CHECK(second.result.ended == 8);
  // What the broken run had written is gone.
  const store::RunReader run(folder.path() / "shifted_seed-2");
  CHECK(run.scalars({"loss/test", ""}).size() == 3);
  CHECK(run.scalars({"loss/test", ""}).front().scalar.value != 77);
}

TEST_CASE("a result is not replaced by one that misses runs which it has") {
  const TemporaryFolder folder;
  const StudyOptions options{.folder = folder.path()};
  const auto whole = run_study(kDefinition, train, options).result;
  const auto file = folder.path() / "shifted_seed-2/run.sqlite";
  std::filesystem::resize_file(file, 600);
  const auto less = run_study(kDefinition, train, options);
  REQUIRE(less.failures.size() == 1);
  CHECK_THAT(less.failures.front().why, Contains("truncated"));
  CHECK(less.result.ended == 7);
  CHECK(holds_more(folder.path(), less.result));
  CHECK(result_json(read_result(folder.path())) == result_json(whole));

  // Once the run is made again, its result takes the place of the old one.
  std::filesystem::remove_all(file.parent_path());
  const auto again = run_study(kDefinition, train, options).result;
  CHECK(again.ended == 8);
  CHECK_FALSE(holds_more(folder.path(), again));
  CHECK(result_json(read_result(folder.path())) == result_json(again));

  // A smaller study that is whole is no loss.
  auto smaller = kDefinition;
  smaller.seeds = first_seeds(3);
  CHECK(run_study(smaller, train, options).result.runs == 6);
  CHECK(read_result(folder.path()).runs == 6);

  // A result that cannot be read protects nothing.
  std::filesystem::resize_file(folder.path() / "study/run.sqlite", 600);
  CHECK_FALSE(holds_more(folder.path(), less.result));
}

TEST_CASE("a study of which no run ended says why") {
  const TemporaryFolder folder;
  const auto never = [](const StudyRun&) { throw std::runtime_error("no such data"); };
  CHECK_THROWS_WITH(run_study(kDefinition, never, {.folder = folder.path()}),
                    Contains("no run of s has ended") && Contains("no such data"));
  CHECK_FALSE(has_result(folder.path()));
  CHECK_THROWS_WITH(read_result(folder.path()), Contains("holds no result"));
}

TEST_CASE("a study without a run of its control is no comparison, and no wrong usage either") {
  const TemporaryFolder folder;
  const auto half = [](const StudyRun& run) {
    if (run.arm == "control") throw std::runtime_error("no such data");
    train(run);
  };
  CHECK_THROWS_WITH(run_study(kDefinition, half, {.folder = folder.path()}),
                    Contains("no run of the arm 'control' of s") && Contains("no such data"));
  CHECK_FALSE(has_result(folder.path()));
  try {
    run_study(kDefinition, half, {.folder = folder.path()});
  } catch (const std::exception& error) {
    CHECK(dynamic_cast<const UsageError*>(&error) == nullptr);
  }
}
