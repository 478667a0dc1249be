// SPDX-License-Identifier: Apache-2.0
#include "reports/findings/stability.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "reports/sample_run.h"
#include "reports/summary.h"
#include "support/catch.h"

namespace kappascope::reports {

using Catch::Contains;

TEST_CASE("the rate is judged over the whole training, not by its last step", "[summary]") {
  // The rate falls along a cosine: what was over the limit at its peak is far below it at the end.
  std::mt19937 random(3);
  for (int draw = 0; draw < 30; ++draw) {
    const bool adam = draw % 2 == 0;
    const std::int64_t steps = 100 + draw;
    const int every = std::uniform_int_distribution<int>(3, 40)(random);
    const double worst = std::uniform_real_distribution<double>(0.5, 1.5)(random);
    const TemporaryFolder folder;
    auto run = store::RunWriter::create(
        folder / "run",
        {{"optimizer", adam ? "adam" : "sgd"}, {"config", "[train]\nschedule = cosine\n"}});
    std::vector<std::pair<double, std::int64_t>> shares;
    for (std::int64_t step = 0; step < steps; ++step) {
      const double t = static_cast<double>(step) / static_cast<double>(steps);
      const double rate = 0.05 * (1.001 + std::cos(3.141592653589793 * t));
      const double limit = (adam ? 38 : 2) / rate;
      store::Snapshot snapshot{.step = step};
      snapshot.scalars = {sample::plain("loss/train", "", 1),
                          sample::plain("learning_rate", "", rate)};
      if (step % every == 1) {
        // A sharpness that stands still, as high as `worst` of the lowest limit.
        const double lambda = worst * (adam ? 38 : 2) / 0.10005;
        shares.emplace_back(lambda / limit, step);
        snapshot.scalars.push_back(sample::scalar(
            adam ? "hessian/preconditioned" : "hessian/lambda_1", "", lambda, 0, "converged"));
        if (adam) snapshot.scalars.push_back(sample::plain("hessian/stability_limit", "", limit));
      }
      run.write(snapshot);
    }
    run.set_state("finished");
    const auto [share, step] = *std::ranges::max_element(shares);
    const auto answers = summarise(read_arms({folder / "run"})).answers;
    const auto& found = *std::ranges::find(answers, "learning_rate", &Answer::id);
    CAPTURE(draw, every, worst, share);
    CHECK((found.answer == "at its limit") == (share > 1));
    CHECK_THAT(found.readings.front().interval,
               Contains(percent(share)) && Contains("at step " + std::to_string(step)));
    CHECK_THAT(found.why,
               Contains("cosine schedule") &&
                   Contains(fmt::format("Measured at {} of {} steps", shares.size(), steps)) &&
                   Contains(every > 1 ? "the longest stretch without" : ""));
  }
}

}  // namespace kappascope::reports
