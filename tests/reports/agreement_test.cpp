// SPDX-License-Identifier: Apache-2.0
// Every surface gives the answers of the diagnosis, with their certainty. Over runs that are drawn.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "reports/advice.h"
#include "reports/drawn_run.h"
#include "reports/findings.h"
#include "reports/html/parts/summary.h"
#include "reports/runs/listing.h"
#include "reports/summary.h"
#include "reports/terminal/frame.h"
#include "support/catch.h"

namespace kappascope::reports {

using Catch::Contains;

TEST_CASE("page, advise, runs, tables, findings and terminal give one answer", "[diagnosis]") {
  std::map<std::string, int> seen;
  for (int seed = 0; seed < 80; ++seed) {
    Random draw{std::mt19937(static_cast<unsigned>(1000 + seed))};
    const TemporaryFolder folder;
    const auto run = write_drawn(draw, folder / "run", seed % 2 == 0);
    CAPTURE(seed);
    const auto arms = read_arms({run});
    const auto advised = nlohmann::json::parse(to_json(advice(run)));
    std::map<std::string, nlohmann::json> answers;
    std::vector<std::string> actions, suggested;
    for (const auto& answer : advised["diagnosis"]) {
      answers[answer["question"]] = answer;
      if (!answer["action"].is_null() && answer["question"] != "next_step")
        actions.push_back(answer["action"]);
      ++seen[std::string(answer["question"]) + " " + std::string(answer["verdict"])];
    }
    CHECK(answers.size() == 13);
    // The page's cards.
    const auto summary = summarise(arms);
    const auto& cards = summary.answers;
    for (const auto& card : cards) {
      CAPTURE(card.id, card.answer);
      CHECK(answers.at(card.id)["grade"] == to_string(card.grade));
    }
    // The layer that the bias surely changes most.
    const auto sure = [](const nlohmann::json& ratio) {
      if (!ratio.is_object() || ratio["lower"].is_null()) return 1.0;
      return std::max({1.0, double(ratio["lower"]), 1 / double(ratio["upper"])});
    };
    static const std::regex kChanged("most in (layer\\d): to");
    std::smatch named;
    const auto& readings = cards[2].readings;
    if (!readings.empty() && std::regex_search(readings.front().number, named, kChanged)) {
      double most = 0, its = -1;
      for (const auto& layer : advised["layers"]) {
        most = std::max(most, sure(layer["bias_changes"]));
        if (layer["layer"] == named[1].str()) its = sure(layer["bias_changes"]);
      }
      CHECK(its == most);
      ++seen["bias most"];
    }
    // The worst layer, wherever it is named.
    const std::string worst = answers.at("worst_layer")["evidence"][0]["layer"];
    const bool is_open = answers.at("worst_layer")["grade"] == "cannot tell";
    if (cards.front().answer == "none stands out") {
      CHECK_THAT(cards.front().readings.front().number, Contains(" in " + worst));
    } else {
      CHECK_THAT(cards.front().answer, Catch::StartsWith((is_open ? "perhaps " : "") + worst));
    }
    const auto listed = summary_of(run).worst_layer;
    CHECK(listed.evidence.front().layer == worst);
    CHECK(to_string(listed.grade) == answers.at("worst_layer")["grade"]);
    CHECK_THAT(arms_html(arms), Contains(" in " + worst));
    CHECK_THAT(frame_of(arms, {.columns = 400}), Contains(" in " + worst));
    // What is suggested is what the answers ask for.
    for (const auto& suggestion : advised["suggestions"]) suggested.push_back(suggestion["what"]);
    CHECK(std::ranges::is_permutation(suggested, actions));
    const auto& next = answers.at("next_step")["action"];
    CHECK((suggested.empty() ? next.is_null() : next == suggested.front()));
    const bool tries_bias = seed % 2 == 0 && next == "bias";  // the run is that trial
    CHECK((cards.back().readings.empty() == (next.is_null() || tries_bias)));
    const auto& rate = answers.at("learning_rate");
    CHECK(rate["action"].is_null() == (cards[1].grade < Grade::kWatch));
    // Findings warn of what the answers say.
    for (const auto& finding : find_findings(arms)) {
      if (finding.id == "cost") CHECK(finding.warning == (answers.at("cost")["grade"] != "good"));
      if (finding.id == "sharpness" && rate["verdict"] == "at_limit") CHECK(finding.warning);
    }
    // The layers of `advise` and the card of the bias.
    if (answers.at("bias")["verdict"] == "helps" ||
        answers.at("bias")["verdict"] == "helps_in_part")
      CHECK_THAT(advised["layers"].dump(), Contains("keep it"));
  }
  for (const char* what : {"learning_rate at_limit",
                           "learning_rate undecided",
                           "learning_rate fine",
                           "learning_rate spikes",
                           "worst_layer limits",
                           "worst_layer undecided",
                           "worst_layer fine",
                           "bias helps_in_part",
                           "bias worth_a_trial",
                           "bias most",
                           "trust unresolved",
                           "cost fine",
                           "cost costly"}) {
    INFO(what);
    CHECK(seen[what] > 0);
  }
}

}  // namespace kappascope::reports
