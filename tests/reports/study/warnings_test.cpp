// SPDX-License-Identifier: Apache-2.0
#include "kappascope/reports/study/warnings.h"

#include "support/catch.h"

using namespace kappascope;
using Catch::Contains;

TEST_CASE(
    "whether an alarm leads is said where trainings with spikes are enough, else that it is not") {
  for (std::int64_t with_spikes = 0; with_spikes < 9; ++with_spikes) {
    CAPTURE(with_spikes);
    std::vector<study::WatchedTraining> trainings(10);
    for (std::int64_t i = 0; i < 10; ++i) {
      auto& training = trainings[static_cast<std::size_t>(i)];
      training.steps = 500;
      if (i < with_spikes) training.spikes = {{300, 310}};
      training.alarms = {{"kappa", {100 + 10 * i}}, {"plain", {200}}};
    }
    study::WarningOptions options;
    options.plain = {"plain"};
    reports::WarningGroup all{.name = "all trainings", .trainings = 10, .with_spikes = with_spikes};
    all.records = study::judge_warnings(trainings, options);
    const auto page = reports::warnings_markdown(
        {.groups = {all}, .plain = options.plain, .horizon = 50, .first_step = 50});
    if (with_spikes < 5) {
      CHECK_THAT(page, Contains("cannot be told.**") && !Contains("No rule leads"));
      CHECK_THAT(page, Contains(std::to_string(with_spikes) + " of 10 trainings have a spike"));
      CHECK_THAT(page, !Contains("| no |"));
    } else {
      CHECK_THAT(page, Contains("**No rule leads the plain ones.**"));
    }
  }
}
