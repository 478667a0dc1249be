// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "reports/advice/suggestions.h"
#include "reports/diagnosis/questions.h"
#include "reports/findings/wording.h"
#include "reports/number_format.h"
#include "reports/summary.h"

namespace kappascope::reports {

// One question each, phrased as diagnosis/ answers it.
Answer worst_layer(const std::vector<Arm>& arms);
Answer learning_rate(const std::vector<Arm>& arms);
Answer bias(const std::vector<Arm>& arms);
Answer trust_and_cost(const std::vector<Arm>& arms);
Answer next_step(const std::vector<Arm>& arms);

/// How the training ended.
struct Headline {
  std::string text{}, certainty{}, basis{};  ///< as in Summary
};
Headline headline_of(const std::vector<Arm>& arms);

/// What the numbers of one arm ask for.
struct Request {
  std::size_t arm = 0;
  Question question{};
  Action action{};
  Grade grade = Grade::kOpen;
  std::string layer{};  ///< that decides; empty where it is of the whole model
  Suggestion suggestion{};
};
/// The most urgent first. No trial of a bias where an arm has one: the comparison is that trial.
std::vector<Request> requests_of(const std::vector<Arm>& arms);

/// What is added where the training loss rose.
inline constexpr const char* kOfFailedTraining =
    " The training loss rose, and this says little of a training that works.";

/// Its number beside its threshold, where both are known.
std::optional<Gauge> gauge_of(const Diagnosis& answer);

}  // namespace kappascope::reports
