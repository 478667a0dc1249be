// SPDX-License-Identifier: Apache-2.0
// Runs that say just what a test wants them to say.
#pragma once

#include <functional>
#include <random>
#include <string>

#include "theory/checks/studies/contrasts.h"

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

/// Adds a run of each seed: the control's value of the seed, plus `effect`, plus noise.
inline void add_shifted(StudyRuns& study,
                        const std::string& arm,
                        double effect,
                        const std::string& condition = "",
                        int seeds = 6,
                        double spread = 0.01) {
  std::mt19937_64 noise(study.runs.size() + 7);
  std::normal_distribution<double> normal(0, spread);
  add_runs(study, arm, condition, "loss/test", seeds, [&](int seed) {
    return 2 + 0.3 * seed + effect + normal(noise);
  });
}

inline StudyRuns two_arms(double effect, int seeds = 6, double spread = 0.01) {
  StudyRuns study{"a-study", {}};
  add_shifted(study, "control", 0, "", seeds, spread);
  add_shifted(study, "arm", effect, "", seeds, spread);
  return study;
}

inline const Contrast kLess{"loss/test", "arm", "control", Direction::kLower};

/// Decided with a smallest difference of interest of 0.1.
inline Verdict direction(const StudyRuns& study, const std::vector<Contrast>& claimed = {kLess}) {
  return check_direction(study, {.claimed = claimed, .matters = {.absolute = 0.1}});
}

}  // namespace kappascope::theory
