// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/experts.h"

#include <fmt/format.h>

#include "reports/figures/builders.h"
#include "reports/findings.h"
#include "reports/written_run.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

store::Scalar seen(const std::string& layer, double rows) {
  auto scalar = sample::scalar("kappa/sigma", layer, 3, 0.1);
  scalar.n = rows;
  return scalar;
}

/// Steps 9 and 19; at the second the last expert of bank 0 sees nothing.
std::vector<Arm> arms_of(const TemporaryFolder& folder, double busiest) {
  auto run = store::RunWriter::create(folder / "run", {{"label", "mine"}});
  store::Snapshot even{.step = 9}, uneven{.step = 19};
  for (int bank = 0; bank < 2; ++bank) {
    for (int i = 0; i < 4; ++i) {
      const auto expert = fmt::format("layers.{}.mlp.experts.{}.w2", bank, i);
      even.scalars.push_back(seen(expert, 100));
      if (bank == 1 || i < 3)
        uneven.scalars.push_back(seen(expert, bank == 0 && i == 1 ? busiest : 50));
    }
  }
  even.scalars.push_back(seen("layers.2.mlp.down_proj", 400));
  run.write(even);
  run.write(uneven);
  run.set_state("finished");
  return read_arms({folder / "run"});
}

std::string text_of(const std::vector<Finding>& found) {
  for (const auto& one : found)
    if (one.id == "expert_load") return one.text + "|" + one.certainty;
  return "";
}

}  // namespace

TEST_CASE("rows are shared among the experts of a bank, counted over the even share") {
  const TemporaryFolder folder;
  const auto banks = expert_banks(arms_of(folder, 300).front());
  REQUIRE(banks.size() == 2);
  CHECK(banks[0].name == "layers.0.mlp.experts.*.w2");
  CHECK(banks[0].experts.size() == 4);
  REQUIRE(banks[0].loads.size() == 2);
  const auto& first = banks[0].loads[0];
  CHECK(first.step == 9);
  CHECK(first.rows == 400);
  CHECK(first.busiest == 1);
  CHECK(first.idlest == 1);
  CHECK(first.unused == 0);
  const auto& last = banks[0].loads[1];
  CHECK(last.rows == 400);
  CHECK(last.busiest == 3);
  CHECK(last.busiest_expert == "layers.0.mlp.experts.1.w2");
  CHECK(last.idlest == 0);
  CHECK(last.unused == 1);
  // 1/8, 3/4, 1/8 and nothing: 0.736 nats, 2.09 of 4 experts.
  CHECK(last.in_use == Approx(0.522).epsilon(1e-3));
  CHECK(first.in_use == Approx(1));
  CHECK(banks[1].loads[1].busiest == 1);
}

TEST_CASE("the load of experts is drawn, a panel a bank, and told where it is uneven") {
  const TemporaryFolder folder;
  const auto arms = arms_of(folder, 300);
  const auto figure = expert_load(arms);
  CHECK(figure.panels.size() == 2);
  CHECK(figure.series.size() == 6);
  CHECK(figure.lines.size() == 2);
  CHECK(figure.series[0].y == std::vector<double>{1, 3});
  CHECK(text_of(find_findings(arms)) ==
        "mine: in 1 of 2 layers of experts the tokens are shared unevenly: "
        "layers.0.mlp.experts.1.w2 takes 75 % of the rows, 3× the even share, and 1 of 4 experts "
        "saw none.|Counted in the window of step 19: 400 rows.");
}

TEST_CASE("rows that the run counted stand before those of a probe whose layers take turns") {
  const TemporaryFolder folder;
  const auto counted = [](const char* layer, double rows) {
    auto scalar = sample::plain("layer/rows", layer, rows / 4);
    scalar.n = rows;
    return scalar;
  };
  const auto banks = [&](const char* name, std::vector<store::Scalar> more) {
    {
      auto run = store::RunWriter::create(folder / name, {});
      more.push_back(seen("moe.down.0", 40));
      run.write({.step = 9, .scalars = std::move(more)});
      // Expert 1 had its turn in another window, and saw as many.
      run.write({.step = 19,
                 .scalars = {seen("moe.down.1", 40)},
                 .events = {{"layers_in_turn", "probe features measures the layers in turn"}}});
    }
    return expert_banks(read_arms({folder / name}).front());
  };
  const auto found = banks("counted", {counted("moe.down.0", 40), counted("moe.down.1", 40)});
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].loads.size() == 1);
  CHECK(found[0].loads[0].rows == 80);
  CHECK(found[0].loads[0].unused == 0);
  CHECK(banks("not counted", {}).empty());
}

TEST_CASE("of few rows an expert that saw none is no finding") {
  const TemporaryFolder folder;
  auto run = store::RunWriter::create(folder / "run", {});
  store::Snapshot even{.step = 9}, uneven{.step = 19};
  for (int i = 0; i < 4; ++i) {
    const auto expert = fmt::format("moe.down.{}", i);
    even.scalars.push_back(seen(expert, 5));
    if (i > 0) uneven.scalars.push_back(seen(expert, 5));
  }
  run.write(even);
  run.write(uneven);
  const auto arms = read_arms({folder / "run"});
  CHECK(expert_banks(arms.front()).size() == 1);
  CHECK(text_of(find_findings(arms)).empty());
}

TEST_CASE("layers that are no experts are no bank") {
  const TemporaryFolder folder;
  auto run = store::RunWriter::create(folder / "run", {});
  run.write({.step = 9,
             .scalars = {seen("layers.0.mlp.down_proj", 5),
                         seen("layers.1.mlp.down_proj", 5),
                         seen("layers.0.mlp.shared_expert.down_proj", 5)}});
  const auto arms = read_arms({folder / "run"});
  CHECK(expert_banks(arms.front()).empty());
  CHECK(expert_load(arms).panels.empty());
}

}  // namespace kappascope::reports
