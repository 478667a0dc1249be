// SPDX-License-Identifier: Apache-2.0
#include "curvature/gathered.h"

#include <torch/types.h>

#include "tensor/convert.h"

namespace kappascope::curvature {

Eigen::VectorXd gathered(double mine, tensor::Group* group) {
  if (group == nullptr) return Eigen::VectorXd::Constant(1, mine);
  auto numbers = torch::zeros({group->size()}, torch::kDouble);
  numbers[group->rank()] = mine;
  group->add_up(numbers);
  return tensor::to_vector(numbers);
}

Eigen::VectorXd added_up(const Eigen::VectorXd& mine, tensor::Group* group) {
  if (group == nullptr || mine.size() == 0) return mine;
  auto sums = tensor::from_vector(mine);
  group->add_up(sums);
  return tensor::to_vector(sums);
}

double added_up(double mine, tensor::Group* group) {
  return added_up(Eigen::VectorXd::Constant(1, mine), group)(0);
}

}  // namespace kappascope::curvature
