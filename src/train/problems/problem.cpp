// SPDX-License-Identifier: Apache-2.0
#include "kappascope/train/problem.h"

#include "train/problems/problems.h"

namespace kappascope::train {

std::unique_ptr<Problem> make_problem(const TrainConfig& config) {
  return make_classification(config);
}

}  // namespace kappascope::train
