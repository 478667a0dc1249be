// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/arms.h"

#include "kappascope/core/error.h"
#include "reports/sample_run.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

void write_layers(const std::filesystem::path& dir, const std::vector<std::string>& layers) {
  auto run = store::RunWriter::create(dir, {{"label", "same"}});
  store::Snapshot snapshot;
  for (const auto& layer : layers) {
    snapshot.scalars.push_back(sample::scalar("kappa/sigma", layer, 2, 0.1));
  }
  run.write(snapshot);
}

}  // namespace

TEST_CASE("layers come in natural order", "[arms]") {
  const TemporaryFolder folder;
  write_layers(folder / "a",
               {"blocks.10.down_proj", "blocks.2.down_proj", "blocks.02.down_proj", "a", "blocks"});
  CHECK(layers_of(read_arms({folder / "a"}), "kappa/") ==
        std::vector<std::string>{
            "a", "blocks", "blocks.02.down_proj", "blocks.2.down_proj", "blocks.10.down_proj"});
}

TEST_CASE("arms of one label are told apart by their folder, then by a number", "[arms]") {
  const TemporaryFolder folder;
  write_layers(folder / "a", {"x"});
  write_layers(folder / "b", {"x"});
  const auto arms = read_arms({folder / "a", folder / "b", folder / "b/"});
  CHECK(arms[0].label == "same (a)");
  CHECK(arms[1].label == "same (b)");
  CHECK(arms[2].label == "same (b) #2");
}

TEST_CASE("a run without a label is called after its folder", "[arms]") {
  const TemporaryFolder folder;
  store::RunWriter::create(folder / "here", {});
  CHECK(read_arms({folder / "here"}).front().label == "here");
}

TEST_CASE("no runs and a folder without a run are refused", "[arms]") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(read_arms({}), Error);
  CHECK_THROWS_AS(read_arms({folder / "nothing"}), Error);
}

TEST_CASE("the last point skips what is not a number but keeps infinity", "[arms]") {
  const TemporaryFolder folder;
  auto run = store::RunWriter::create(folder / "a", {});
  const double values[] = {
      1, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  for (std::int64_t step = 0; step < 3; ++step) {
    store::Snapshot snapshot;
    snapshot.step = step;
    snapshot.scalars.push_back(sample::plain("kappa/sigma", "x", values[step]));
    run.write(snapshot);
  }
  const auto arms = read_arms({folder / "a"});
  REQUIRE(arms[0].last("kappa/sigma", "x"));
  CHECK(arms[0].last("kappa/sigma", "x")->step == 1);
  CHECK_FALSE(arms[0].last("kappa/sigma", "y"));
  CHECK(arms[0].series("kappa/sigma", "x").size() == 3);
}

}  // namespace kappascope::reports
