// SPDX-License-Identifier: Apache-2.0
// Runs that say just what a test wants them to say.
#pragma once

#include <functional>
#include <string>

#include "theory/claim.h"

namespace kappascope::theory {

/// Adds a finished run of each seed from 1 on, with this value of the metric.
inline void add_runs(StudyRuns& study,
                     const std::string& arm,
                     const std::string& condition,
                     const std::string& metric,
                     int seeds,
                     const std::function<double(int seed)>& value) {
  for (int seed = 1; seed <= seeds; ++seed) {
    study::RunEnd run;
    run.arm = arm;
    run.condition = condition;
    run.seed = std::to_string(seed);
    run.state = "finished";
    run.values[metric] = {value(seed), 99};
    study.runs.push_back(run);
  }
}

}  // namespace kappascope::theory
