// SPDX-License-Identifier: Apache-2.0
// A study with your own training: does momentum lower the loss? Two arms, five seeds each.
#include "kappascope/study/study.h"

#include <cmath>
#include <cstdio>
#include <random>

#include "kappascope/reports/study/markdown.h"

namespace study = kappascope::study;

// Gradient descent on (x² + 50 y²) / 2 from a random start near (1, 1).
void descend(const study::StudyRun& run) {
  const double momentum = std::stod(run.settings.back().second);
  std::mt19937_64 random(run.seed);
  std::normal_distribution<double> normal(1, 0.1);
  double x = normal(random), y = normal(random), vx = 0, vy = 0;
  auto store = study::begin_run(run);
  for (int step = 0; step < 100; ++step) {
    store.write(
        {.step = step, .scalars = {{.name = "loss/test", .value = (x * x + 50 * y * y) / 2}}});
    x += vx = momentum * vx - 0.01 * x;
    y += vy = momentum * vy - 0.01 * 50 * y;
  }
  store.set_state("finished");
}

int main() {
  const study::StudyDefinition definition = {
      .name = "momentum",
      .seeds = study::first_seeds(5),
      .arms = {{"plain", {{"momentum", "0"}}}, {"heavy ball", {{"momentum", "0.5"}}}}};
  const auto [result, failures] = study::run_study(definition, descend);
  std::printf("%s", kappascope::reports::study_markdown({result}).c_str());
  return failures.empty() && result.comparisons.front().is_significant() ? 0 : 1;
}
