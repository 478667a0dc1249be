// SPDX-License-Identifier: Apache-2.0
#include "lab/study/result.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/temporary_folder.h"
#include "core/version.h"
#include "kappascope/core/error.h"
#include "kappascope/store/run.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::study;
using Catch::Contains;

namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

RunEnd end_of(const std::string& arm, int seed, double loss) {
  RunEnd end;
  end.arm = arm;
  end.seed = std::to_string(seed);
  end.state = "finished";
  end.facts = {{"parameters", arm == "none" ? "100" : "110"},
               {"steps", "50"},
               {"data", "/somewhere/mnist (60000 images)"}};
  end.values["loss/test"] = {loss, 9};
  end.values["memory/training"] = {1000.0 * seed, 9};
  return end;
}

StudyResult small_result() {
  auto result = summarise({end_of("PGB", 1, 2.5),
                           end_of("none", 1, 3),
                           end_of("PGB", 2, 3.5),
                           end_of("none", 2, 4.125)},
                          {"none"},
                          {"loss/test"});
  result.name = "a-study";
  ClaimVerdict verdict{
      .claim = "P-A", .source = "here", .statement = "|x| grows", .study = "a-study"};
  verdict.verdict.outcome = Outcome::kRefuted;
  verdict.verdict.measured = -std::numeric_limits<double>::infinity();
  verdict.verdict.lower = -0.5;
  verdict.verdict.tolerance = 0.125;
  verdict.verdict.seed = 7;
  result.verdicts.push_back(verdict);
  return result;
}

}  // namespace

TEST_CASE("runs are summarised by arm, the control first") {
  const auto result = small_result();
  CHECK(result.control() == "none");
  REQUIRE(result.arms.size() == 2);
  CHECK(result.arms[1].arm == "PGB");
  CHECK(result.arms[1].runs == 2);
  CHECK(result.arms[1].parameters == 110);
  CHECK(result.arms[0].memory == 1500);
  CHECK(std::isnan(result.arms[0].spikes));
  CHECK(result.data == "mnist (60000 images)");
  CHECK(result.steps == "50");
  CHECK(result.seeds == 2);
  REQUIRE(result.comparisons.size() == 1);
  CHECK(result.comparisons[0].difference.mean == Approx(-0.5625));
  CHECK(summarise({end_of("PGB", 1, 1)}, {}, {"loss/test"}).comparisons.empty());
  CHECK_THROWS_AS(summarise({end_of("PGB", 1, 1)}, {"nobody"}, {"loss/test"}), UsageError);
}

TEST_CASE("a stored result reads back as the same value") {
  const auto result = small_result();
  const auto back = parse_results(results_json({result}));
  REQUIRE(back.size() == 1);
  CHECK(results_json(back) == results_json({result}));
  const auto& verdict = back[0].verdicts.front();
  CHECK(verdict.study == "a-study");
  CHECK(verdict.verdict.outcome == Outcome::kRefuted);
  CHECK(std::isinf(verdict.verdict.measured));
  CHECK(verdict.verdict.lower == -0.5);
  CHECK(verdict.verdict.tolerance == 0.125);
  CHECK_FALSE(verdict.verdict.upper);
  CHECK(verdict.verdict.seed == 0);  // not part of a result: the same runs give the same bytes
  CHECK(back[0].comparisons[0].difference.lower == result.comparisons[0].difference.lower);
  CHECK(std::isnan(back[0].arms[1].probing));
  CHECK_THAT(verdict_json(result.verdicts[0]), Contains("\"seed\":7") && Contains("\"-inf\""));

  const TemporaryFolder folder;
  write_result(folder.path(), result);
  write_result(folder.path(), result);  // takes the place of the first
  CHECK(result_json(read_result(folder.path())) == result_json(result));
  CHECK(store::RunReader(folder / "study").state() == "finished");
}

TEST_CASE("numbers that JSON has not, and what no run recorded, come back as they were") {
  auto result = small_result();
  result.arms.push_back({.arm = "of which no run ended"});
  auto& verdict = result.verdicts.front().verdict;
  verdict.measured = std::numeric_limits<double>::infinity();
  verdict.lower = std::numeric_limits<double>::quiet_NaN();
  const auto text = results_json({result});
  const auto back = parse_results(text).front();
  CHECK(results_json({back}) == text);
  CHECK(back.verdicts.front().verdict.measured == std::numeric_limits<double>::infinity());
  REQUIRE(back.arms.size() == 3);
  CHECK(back.arms[2].runs == 0);
  CHECK(std::isnan(back.arms[2].memory));
  CHECK_THAT(comparisons_json(result.comparisons), Contains("\"arm\":\"PGB\""));

  // An earlier version left out what was not recorded.
  auto json = nlohmann::ordered_json::parse(text);
  json["studies"][0]["arms"][0].erase("memory");
  json["studies"][0]["comparisons"][0].erase("unpaired");
  const auto older = parse_results(json.dump()).front();
  CHECK(std::isnan(older.arms[0].memory));
  CHECK(older.comparisons[0].unpaired == 0);
}

TEST_CASE("a number of parameters that is none is not recorded") {
  for (const auto* text : {"110 and more", "many", ""}) {
    auto end = end_of("none", 1, 1);
    for (auto& [key, value] : end.facts)
      if (key == "parameters") value = text;
    CHECK_FALSE(summarise({end}, {}, {"loss/test"}).arms.front().parameters);
  }
}

TEST_CASE("a result takes the place of another when it is whole, and clears what a kill left") {
  const TemporaryFolder folder;
  auto result = small_result();
  write_result(folder.path(), result);
  store::RunWriter::create(folder / ".study.new", {{"kind", "study"}});
  result.name = "another";
  write_result(folder.path(), result);
  CHECK(read_result(folder.path()).name == "another");
  CHECK_FALSE(std::filesystem::exists(folder / ".study.new"));
  // A reader that has the first open, as a page does, holds nothing up.
  const store::RunReader reader(folder / "study");
  result.name = "third";
  write_result(folder.path(), result);
  CHECK(reader.fact("label") == "another");
  CHECK(read_result(folder.path()).name == "third");
}

TEST_CASE("the results that earlier versions wrote read and write as they are") {
  const auto file = std::filesystem::path(KAPPASCOPE_EXPERIMENTS) / "results.json";
  const auto text = text_of(file);
  const auto results = parse_results(text);
  CHECK(results.size() >= 10);
  CHECK(results_json(results, 1) + "\n" == text);
}

TEST_CASE("over all verdicts the false discovery rate is held, and what does not stand says so") {
  const auto with = [](double p, Outcome outcome) {
    auto result = small_result();
    result.verdicts.front().verdict.outcome = outcome;
    result.verdicts.front().verdict.p = p;
    return result;
  };
  // Alone 0.04 is found; beside four that are not, its q is 0.2.
  std::vector<StudyResult> one = {with(0.04, Outcome::kRefuted)};
  control_false_discovery(one);
  CHECK(one[0].verdicts[0].verdict.outcome == Outcome::kRefuted);
  CHECK(*one[0].verdicts[0].verdict.q == Approx(0.04));
  std::vector<StudyResult> many = {with(0.04, Outcome::kRefuted), with(1e-6, Outcome::kHoldsUnder)};
  for (const double p : {0.3, 0.5, 0.8}) many.push_back(with(p, Outcome::kTooFewRuns));
  many.push_back(small_result());  // of which nothing was tested
  control_false_discovery(many);
  const auto& lost = many[0].verdicts[0].verdict;
  CHECK(lost.outcome == Outcome::kTooFewRuns);
  CHECK(*lost.q == Approx(0.1));
  CHECK_THAT(lost.condition, Contains("by its study alone refuted"));
  CHECK(many[1].verdicts[0].verdict.outcome == Outcome::kHoldsUnder);
  CHECK(many[2].verdicts[0].verdict.outcome == Outcome::kTooFewRuns);
  CHECK_FALSE(many[5].verdicts[0].verdict.q);
  CHECK(many[5].verdicts[0].verdict.outcome == Outcome::kRefuted);
  auto ours = with(1e-9, Outcome::kHoldsUnder);
  ours.verdicts[0].source = "ours, beside another";
  many.push_back(ours);
  control_false_discovery(many);
  CHECK(*many[0].verdicts[0].verdict.q == Approx(0.1));
  CHECK(*many[6].verdicts[0].verdict.q == Approx(1e-9));
  const auto back = parse_results(results_json(many));
  CHECK(*back[0].verdicts[0].verdict.p == 0.04);
  CHECK(results_json(back) == results_json(many));
}

TEST_CASE("a study that was not run again since its definition changed decides nothing") {
  auto result = small_result();
  mark_outdated(result);
  const auto once = result_json(result);
  const auto& verdict = result.verdicts.front().verdict;
  CHECK(verdict.outcome == Outcome::kUndecided);
  CHECK_THAT(verdict.condition,
             Contains("was not run again") && Contains("earlier it said: refuted"));
  CHECK(result.comparisons.size() == 1);
  mark_outdated(result);  // says it once
  CHECK(result_json(result) == once);
}

TEST_CASE("what is no result is refused") {
  CHECK_THROWS_AS(parse_results("no JSON"), Error);
  CHECK_THROWS_AS(parse_results("{}"), Error);
  CHECK_THROWS_AS(parse_results(R"({"studies": [{"study": "a"}]})"), Error);
  auto json = nlohmann::ordered_json::parse(results_json({small_result()}));
  json["studies"][0]["verdicts"][0]["outcome"] = "maybe";
  CHECK_THROWS_WITH(parse_results(json.dump()), Contains("maybe"));
  for (const auto* number : {"2.5", "true", "1e30", "18446744073709551615", "\"7\""}) {
    CAPTURE(number);
    auto changed = nlohmann::ordered_json::parse(results_json({small_result()}));
    changed["studies"][0]["seeds"] = nlohmann::ordered_json::parse(number);
    CHECK_THROWS_WITH(parse_results(changed.dump()), Contains("no whole number"));
  }
  const TemporaryFolder folder;
  CHECK_FALSE(has_result(folder.path()));
  store::RunWriter::create(folder.path() / "study", {{"kind", "study"}});
  CHECK_THROWS_WITH(read_result(folder.path()), Contains("holds no result"));
}

TEST_CASE("a result names the version that made it") {
  CHECK(small_result().version == version());
}
