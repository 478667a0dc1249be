// SPDX-License-Identifier: Apache-2.0
#include "lab/study/definition.h"

#include <filesystem>
#include <fstream>

#include "core/temporary_folder.h"
#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::study;
using Catch::Contains;

namespace {

StudyDefinition read(const std::string& text) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "my-study.ini";
  std::ofstream(file) << text;
  return read_definition(file);
}

}  // namespace

TEST_CASE("a study file has arms, a grid, seeds, metrics, claims and the settings of all runs") {
  const auto study = read(
      "[train]\nsteps = 12\n[study]\nseeds = 5\nmetrics = loss/test accuracy/test\nclaims = P-X3\n"
      "[arms]\nno bias = model.bias=none\nPGB = model.bias=post-gating model.width=8\nplain =\n"
      "[grid]\nmodel.dropout = 0 0.1\n");
  CHECK(study.name == "my-study");
  CHECK(study.seeds == first_seeds(5));
  CHECK(study.metrics == std::vector<std::string>{"loss/test", "accuracy/test"});
  CHECK(study.claims == std::vector<std::string>{"P-X3"});
  CHECK(study.base == IniSettings{{"train.steps", "12"}});
  REQUIRE(study.arms.size() == 3);
  CHECK(study.arms[0].first == "no bias");
  CHECK(study.arms[1].second == IniSettings{{"model.bias", "post-gating"}, {"model.width", "8"}});
  CHECK(study.arms[2].second.empty());
  REQUIRE(study.grid.size() == 1);
  CHECK(study.grid[0].first == "model.dropout");
  CHECK(study.grid[0].second == std::vector<std::string>{"0", "0.1"});
  const auto least = read("[arms]\na =\n");
  CHECK(least.seeds == first_seeds(1));
  CHECK(least.metrics == std::vector<std::string>{"loss/test"});
  using Seeds = std::vector<std::uint64_t>;
  CHECK(read("[arms]\na =\n[study]\nseeds = 1 2 7\n").seeds == Seeds{1, 2, 7});
  CHECK(parse_seeds(" 4-6  9 ", "") == Seeds{4, 5, 6, 9});
  CHECK(parse_seeds("7-7", "") == Seeds{7});
  CHECK(parse_seeds("18446744073709551615-18446744073709551615", "") == Seeds{~std::uint64_t{0}});
}

TEST_CASE("a study file that is none is refused with its name and the fault") {
  const auto refused = [](const std::string& text, const std::string& why) {
    CHECK_THROWS_WITH(read(text), Contains("my-study.ini") && Contains(why));
    CHECK_THROWS_AS(read(text), UsageError);
  };
  refused("[train]\nsteps = 3\n", "[arms]");
  refused("[arms]\na = model.bias\n", "setting=value");
  refused("[arms]\na =\na =\n", "two arms");
  for (const auto* label : {"a\x1b[2J", "\x07", "a\xff", "\xc2\x9b"})
    refused(std::string("[arms]\n") + label + " =\n", "control characters: '");
  refused("[arms]\na =\n[grid]\nx =\n", "no values");
  refused("[arms]\na =\n[study]\nseeds = 0\n", "at least one seed");
  refused("[arms]\na =\n[study]\nseeds = 3.7\n", "whole number");
  refused("[arms]\na =\n[study]\nseeds = 99999999999999999999\n", "whole number");
  refused("[arms]\na =\n[study]\nseeds = 20001\n", "more than 20000 runs");
  refused("[arms]\na =\nb =\n[study]\nseeds = 12000\n", "the study has 24000 runs");
  refused("[arms]\na =\n[study]\nseeds = 2 x\n", "got 'x'");
  refused("[arms]\na =\n[study]\nseeds = 4 1-5\n", "4 twice");
  refused("[arms]\na =\n[study]\nseeds = 5-3 1\n", "5 to 3");
  refused("[arms]\na =\nb = y=1 x=2\n[grid]\nx = 1 2\n", "the arm 'b' sets x, which [grid] varies");
  for (const auto* metric : {"loss/tset",
                             "kapa/sigma",
                             "accuracy/tests",
                             "spike/count",
                             "loss/test@mean",
                             "hessian/lambda_K",
                             "loss/test@median@median"}) {
    refused(std::string("[arms]\na =\n[study]\nmetrics = loss/test ") + metric + "\n", metric);
    refused(std::string("[arms]\na =\n[study]\nclaims = P-X3\n[regime]\nP-X3 = ") + metric +
                " of a at most 2\n",
            metric);
  }
  refused("[arms]\na =\n[study]\nmetrics = loss/tset\n", "did you mean 'loss/test'?");
  refused("[arms]\na =\n[study]\nseed = 3\n", "no 'seed'");
  CHECK_THROWS_AS(read_definition("/nowhere/study.ini"), UsageError);
  CHECK_THROWS_AS(read_definition(std::filesystem::temp_directory_path()), UsageError);
}

TEST_CASE("a study says where a claim speaks, by its id, and several regimes of one are kept") {
  const auto study = read(
      "[arms]\nno bias =\nPGB =\n[study]\nclaims = P-X1 P-X3\n"
      "[regime]\nP-X3 = accuracy/pgd of no bias between 0.1 and 0.2\nP-X3 = loss/test of PGB at "
      "most "
      "2\nP-X1 = spikes/count of no bias at least 3\n");
  REQUIRE(study.regimes.size() == 3);
  const auto found = regimes_of(study, "P-X3");
  REQUIRE(found.size() == 2);
  CHECK(to_string(found[0]) == "accuracy/pgd of no bias between 0.1 and 0.2");
  CHECK(found[1].arm == "PGB");
  CHECK(regimes_of(study, "P-X4").empty());
  const auto refused = [](const std::string& regime, const std::string& why) {
    CHECK_THROWS_WITH(read("[arms]\na =\n[study]\nclaims = P-X3\n[regime]\n" + regime + "\n"),
                      Contains("my-study.ini") && Contains(why));
  };
  refused("P-X4 = loss/test of a at most 2", "P-X4, which study.claims does not");
  refused("P-X3 = loss/test of b at most 2", "no arm is labelled 'b'");
  refused("P-X3 = small", "a regime is");
}

TEST_CASE("the fingerprint of a study changes with all that its result rests on, not with seeds") {
  const std::string text =
      "[train]\nsteps = 12\n[arms]\na = x=1\nb = x=2\n[grid]\ny = 1 2\n"
      "[study]\nclaims = P-X3\nseeds = 5\n[regime]\nP-X3 = loss/test of a at most 2\n";
  const auto of = [](const std::string& changed) { return fingerprint(read(changed)); };
  const auto with = [&](const std::string& from, const std::string& to) {
    auto changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return of(changed);
  };
  CHECK(of(text).size() == 16);
  CHECK(with("seeds = 5", "seeds = 6") == of(text));
  CHECK(with("[train]", "# a comment\n[train]") == of(text));
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"steps = 12", "steps = 13"},
                                                        {"b = x=2", "b = x=3"},
                                                        {"b = x=2", "c = x=2"},
                                                        {"y = 1 2", "y = 1 3"},
                                                        {"claims = P-X3", "claims = P-X3 P-X4"},
                                                        {"seeds = 5", "metrics = accuracy/test"},
                                                        {"at most 2", "at most 3"}}) {
    CAPTURE(from, to);
    CHECK(with(from, to) != of(text));
  }
}

TEST_CASE("a study compares the test loss where it names no metric, and something in any case") {
  CHECK(read("[arms]\na =\n[study]\nmetrics =\n").metrics == std::vector<std::string>{"loss/test"});
  auto study = read("[arms]\na =\n");
  study.metrics.clear();
  CHECK_THROWS_WITH(validate(study), Contains("at least one metric"));
}
