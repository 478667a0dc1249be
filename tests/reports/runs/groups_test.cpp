// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/groups.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "kappascope/core/statistics.h"
#include "reports/diagnosis/questions.h"
#include "reports/findings.h"
#include "reports/sample_run.h"
#include "reports/summary.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

using Catch::Contains;

struct Kind {
  std::string label, condition, rate;
  int seed = 1;
  double loss = 1;
  bool failed = false;
};

Arm run_of(const Kind& kind, int number) {
  Arm arm;
  arm.dir = "/nowhere/run" + std::to_string(number);
  arm.state = kind.failed ? "failed" : "finished";
  arm.facts = {{"label", kind.label},
               {"condition", kind.condition},
               {"seed", std::to_string(kind.seed)},
               {"config",
                "[train]\nlearning-rate = " + kind.rate + "\nseed = " + std::to_string(kind.seed) +
                    "\nthreads = " + std::to_string(number) + "\n"}};
  arm.last_step = 9;
  arm.scalars[{"loss/test", ""}] = {{9, sample::plain("loss/test", "", kind.loss)}};
  return arm;
}

}  // namespace

TEST_CASE("runs that differ in their seed alone are one arm, and no others are", "[groups]") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const auto drawn = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    std::vector<Arm> runs;
    using Key = std::tuple<std::string, std::string, std::string>;
    std::map<Key, std::map<int, std::vector<double>>> losses;  // by seed
    for (int i = drawn(1, 40); i > 0; --i) {
      const Kind kind{.label = std::string(1, static_cast<char>('a' + drawn(0, 2))),
                      .condition = drawn(0, 1) == 0 ? "" : "width " + std::to_string(drawn(1, 2)),
                      .rate = drawn(0, 5) == 0 ? "0.1" : "0.01",
                      .seed = drawn(1, 4),
                      .loss = std::uniform_real_distribution<double>(1, 2)(random)};
      losses[{kind.label, kind.condition, kind.rate}][kind.seed].push_back(kind.loss);
      runs.push_back(run_of(kind, i));
    }
    label_arms(runs);
    const Groups groups(runs);
    // A seed that is there twice begins a second group.
    std::multiset<std::pair<std::size_t, double>> expected, found;
    for (const auto& [key, by_seed] : losses) {
      std::vector<std::vector<double>> parts;
      for (const auto& [one, all] : by_seed) {
        for (std::size_t k = 0; k < all.size(); ++k) {
          if (parts.size() <= k) parts.emplace_back();
          parts[k].push_back(all[k]);
        }
      }
      for (const auto& part : parts) expected.emplace(part.size(), median(part));
    }
    std::set<std::string> labels;
    for (const Arm& arm : groups.arms()) {
      found.emplace(runs_of(arm).size(), arm.last("loss/test")->scalar.value);
      labels.insert(arm.label);
    }
    CAPTURE(seed);
    CHECK(found == expected);
    CHECK(labels.size() == groups.arms().size());
    CHECK(runs_of(groups.arms()).size() == runs.size());
    CHECK(groups.any() == (groups.arms().size() < runs.size()));
  }
}

TEST_CASE("a seed that failed is out of the median and stays among the runs", "[groups]") {
  std::vector<Arm> runs = {run_of({"a", "", "1", 1, 1}, 1),
                           run_of({"a", "", "1", 2, 3}, 2),
                           run_of({"a", "", "1", 3, 100, true}, 3)};
  label_arms(runs);
  const Groups groups(runs);
  REQUIRE(groups.arms().size() == 1);
  const Arm& arm = groups.arms().front();
  CHECK(arm.label == "a");
  CHECK(arm.state == "1 failed, 2 finished");
  CHECK(arm.last("loss/test")->scalar.value == 2);
  CHECK(arm.fact("seed") == "1, 2, 3");
}

TEST_CASE("arms with seeds are told as medians, and nobody is sent to sweep what was swept",
          "[groups]") {
  const auto page_of_seeds = [](int seeds) {
    std::vector<Arm> runs;
    for (const char* label : {"a", "b"}) {
      for (int seed = 1; seed <= seeds; ++seed)
        runs.push_back(run_of({label, "", "1", seed, *label - 'a' + 1 + 0.1 * seed},
                              static_cast<int>(runs.size())));
    }
    label_arms(runs);
    const Groups groups(runs);
    const auto summary = summarise(groups.arms());
    std::string text = summary.headline + summary.basis + summary.certainty;
    for (const auto& answer : summary.answers) text += answer.why;
    for (const auto& finding : find_findings(groups.arms()))
      text += finding.text + finding.certainty;
    return text;
  };
  CHECK_THAT(page_of_seeds(3),
             Contains("b ends at test loss") && Contains("medians of 3 seeds") &&
                 Contains("3 seeds: 1.1–1.3") && !Contains("kappascope sweep") &&
                 !Contains("One seed"));
  CHECK_THAT(page_of_seeds(1), Contains("one run per arm") && Contains("kappascope sweep"));
}

TEST_CASE("a difference has its interval by pairs of seeds, and says where it may be chance",
          "[groups]") {
  const auto told = [](const std::vector<Kind>& kinds) {
    std::vector<Arm> runs;
    for (const Kind& kind : kinds) runs.push_back(run_of(kind, static_cast<int>(runs.size())));
    label_arms(runs);
    const Groups groups(runs);
    return summarise(groups.arms()).certainty;
  };
  const auto three = [](double first, double second, double third) {
    return std::vector<Kind>{{"a", "", "1", 1, 1},
                             {"b", "", "1", 1, 1 + first},
                             {"a", "", "1", 2, 2},
                             {"b", "", "1", 2, 2 + second},
                             {"a", "", "1", 3, 3},
                             {"b", "", "1", 3, 3 + third}};
  };
  // Mean 0.2, standard error 0.1 / sqrt(3), t = 4.303 with two degrees of freedom.
  CHECK(told(three(-0.1, -0.2, -0.3)) ==
        "From seed to seed the test loss differs by −0.2 on average (95 %: −0.448 to 0.0484, 3 "
        "pairs): it may "
        "be chance.");
  CHECK_THAT(told(three(-0.19, -0.2, -0.21)), Contains("3 pairs): more than chance."));
  const auto page = [](const std::vector<Kind>& kinds) {
    std::vector<Arm> runs;
    for (const Kind& kind : kinds) {
      runs.push_back(run_of(kind, static_cast<int>(runs.size())));
      runs.back().scalars[{"kappa/sigma", "a"}] = {{9, sample::scalar("kappa/sigma", "a", 2, 0.1)}};
    }
    label_arms(runs);
    const Groups groups(runs);
    const auto summary = summarise(groups.arms());
    return summary.headline + " " + summary.answers.back().answer;
  };
  CHECK_THAT(page(three(-0.1, -0.2, -0.3)),
             Contains("no sure difference to a") && Contains("not surely different"));
  CHECK_THAT(page(three(-0.19, -0.2, -0.21)), Contains(" lower than a") && Contains("keep b"));
  CHECK_THAT(page(three(0.19, 0.2, 0.21)), Contains(" higher than a") && Contains("keep a"));
  // Of many arms the choice takes the corrected differences.
  const auto of_three_arms = [&](double third) {
    auto kinds = three(0.01, -0.01, 0.02);
    for (int seed = 1; seed <= 3; ++seed)
      kinds.push_back({"c", "", "1", seed, seed + third + 0.001 * seed});
    return page(kinds);
  };
  CHECK_THAT(of_three_arms(-0.2), Contains("choose among 1 arm by kappascope compare"));
  CHECK_THAT(of_three_arms(0.2), Contains("nothing: no arm is surely better than a"));
  // Losses of different problems are not compared.
  auto others = three(-0.19, -0.2, -0.21);
  std::vector<Arm> runs;
  for (const Kind& kind : others) {
    runs.push_back(run_of(kind, static_cast<int>(runs.size())));
    runs.back().facts.emplace_back("data", kind.label);
  }
  const Groups groups(runs);
  CHECK_FALSE(diagnose_loss(groups.arms().at(1), groups.arms().at(0)));
  // Another seed, a seed twice and a failed run are in no pair.
  auto more = three(-0.19, -0.2, -0.21);
  more.push_back({"a", "", "1", 7, 50});
  more.push_back({"b", "", "1", 8, 90});
  more.push_back({"a", "", "1", 9, 1});
  more.push_back({"b", "", "1", 9, 100, true});
  CHECK_THAT(told(more), Contains("3 pairs): more than chance."));
  auto wider = three(-0.19, -0.2, -0.21);
  for (const char* label : {"c", "d"})
    for (int seed = 1; seed <= 3; ++seed) wider.push_back({label, "", "1", seed, 9.0 + seed});
  CHECK_THAT(told(wider), Contains("more than chance. It is the largest of 3"));
}

TEST_CASE("the runs of a study with one seed are not sent to sweep either", "[groups]") {
  const TemporaryFolder folder;
  std::vector<Arm> runs = {run_of({"a", "", "1", 1, 1}, 1), run_of({"b", "", "1", 1, 2}, 2)};
  for (Arm& run : runs) run.dir = folder / run.dir.filename();
  label_arms(runs);
  CHECK_THAT(how_to_be_surer(runs), Contains("kappascope sweep"));
  std::filesystem::create_directories(folder / "settings");
  std::ofstream(folder / "settings/run1.ini") << "";
  CHECK_THAT(how_to_be_surer(runs), Contains("`seeds`") && !Contains("kappascope sweep"));
}

TEST_CASE("an arm is compared with the first of its own condition", "[groups]") {
  std::vector<Arm> runs;
  for (const char* condition : {"width 1", "width 2"}) {
    for (const char* label : {"a", "b"})
      runs.push_back(run_of({label, condition, "1", 1, 1}, static_cast<int>(runs.size())));
  }
  label_arms(runs);
  std::vector<std::string> told;
  for (const auto& finding : find_findings(runs))
    if (finding.id == "test_loss") told.push_back(finding.text);
  REQUIRE(told.size() == 2);
  CHECK_THAT(told[0], Contains("b, width 1 1, a, width 1 1"));
  CHECK_THAT(told[1], Contains("b, width 2 1, a, width 2 1"));
}

}  // namespace kappascope::reports
