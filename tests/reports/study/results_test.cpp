// SPDX-License-Identifier: Apache-2.0
#include "kappascope/reports/results.h"

#include <nlohmann/json.hpp>
#include <string>

#include "kappascope/core/error.h"
#include "support/catch.h"

using Catch::Contains;
using kappascope::reports::results_markdown;
using Json = nlohmann::ordered_json;

namespace {

Json verdict(const std::string& claim, const std::string& outcome) {
  return {{"claim", claim},
          {"source", "A document, section 4"},
          {"statement", "|x| grows"},
          {"outcome", outcome},
          {"condition", "loss | 5 pairs"},
          {"left", "loss of A minus B"},
          {"measured", -0.25},
          {"lower", -0.5},
          {"upper", nullptr},
          {"predicted", 0.0}};
}

Json study(const Json& verdicts) {
  return {
      {"study", "a-study"},
      {"command", "kappascope sweep a-study.ini"},
      {"data", "mnist (60000 training, 10000 test images)"},
      {"steps", "100"},
      {"seeds", 5},
      {"runs", 10},
      {"ended", 9},
      {"arms",
       {{{"arm", "A"},
         {"runs", 5},
         {"diverged", 1},
         {"parameters", 1234},
         {"memory", 3 << 20},
         {"spikes", 0},
         {"probing", 0.015}},
        {{"arm", "B"}, {"runs", 0}, {"diverged", 0}},
        {{"arm", "C"}, {"runs", 5}, {"diverged", 0}, {"parameters", 1851}, {"memory", 6 << 20}}}},
      {"comparisons",
       Json::array({{{"metric", "loss/test"},
                     {"condition", "rate 1"},
                     {"arm", "A"},
                     {"control", "B"},
                     {"median", 1.5},
                     {"control_median", 1.75},
                     {"difference", -0.25},
                     {"lower", -0.5},
                     {"upper", -0.125},
                     {"pairs", 5},
                     {"p_holm", nullptr},
                     {"detectable", 0.1}}})},
      {"verdicts", verdicts}};
}

std::string page(const Json& one) {
  const Json results = {{"studies", Json::array({study(Json::array({one}))})}};
  return results_markdown(results.dump());
}

}  // namespace

TEST_CASE("results have every verdict, arm and comparison with its numbers") {
  const auto text = page(verdict("P-A", "refuted"));
  CHECK_THAT(
      text,
      Contains("| P-A | [a-study](#a-study) | loss of A minus B | -0.25 | – | 0 | 5 | not so "
               "here |"));
  CHECK_THAT(text,
             Contains("| P-A | \\|x\\| grows (A document, section 4) | not so here | loss \\| "));
  CHECK_THAT(text, Contains("5 seeds, 9 of 10 runs"));
  CHECK_THAT(text, Contains("\n    kappascope sweep a-study.ini\n"));
  CHECK_THAT(text, Contains("| A | 5 | 1 | 1234 | 3 MiB | 0 | 1.5 % |"));
  CHECK_THAT(text, Contains("| B | 0 | 0 | – | – | – | – |"));
  CHECK_THAT(text, Contains("| C | 5 | 0 | 1851 (1.5 x) | 6 MiB (2 x) | – | – |"));
  CHECK_THAT(
      text,
      Contains("| loss/test | rate 1 | A | 1.5 | 1.75 | -0.25 | -0.5 to -0.125 | 5 | – | 0.1 "
               "|"));
}

TEST_CASE("each outcome has its words, and what could not be measured no number") {
  CHECK_THAT(page(verdict("P-A", "holds under a condition")), Contains("| holds here |"));
  CHECK_THAT(page(verdict("P-A", "measured")), Contains("| measured |"));
  auto lacking = verdict("P-A", "undecided");
  lacking["left"] = "";
  CHECK_THAT(page(lacking),
             Contains("| P-A | [a-study](#a-study) |  | – | – | – | 5 | not decided |"));
}

TEST_CASE("what is no result of studies is refused") {
  CHECK_THROWS_AS(results_markdown("no JSON"), kappascope::Error);
  CHECK_THROWS_AS(results_markdown("{}"), kappascope::Error);
  CHECK_THROWS_AS(results_markdown(R"({"studies": [{"study": "a"}]})"), kappascope::Error);
}
