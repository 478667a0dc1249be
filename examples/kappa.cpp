// SPDX-License-Identifier: Apache-2.0
// The condition numbers of a matrix of features, with intervals.
#include "kappascope/linalg/features/kappa.h"

#include <fmt/format.h>

#include "kappascope/linalg/random.h"

using namespace kappascope;

void print(const char* name, const linalg::KappaEstimate& kappa) {
  fmt::print("{:<22}{:10.1f}  in [{:.1f}, {:.1f}]  {} {}\n",
             name,
             kappa.value,
             kappa.lower,
             kappa.upper,
             linalg::to_string(kappa.resolution),
             kappa.reason);
}

int main() {
  // 4,000 rows of 32 features that gates would make: positive, so their mean is not zero.
  linalg::Random random(1);
  linalg::RowMatrixD features(4000, 32);
  for (auto& entry : features.reshaped()) entry = random.uniform() * random.uniform();
  const Eigen::VectorXd mean = features.colwise().mean();

  // A post-gating bias that has absorbed most of the mean.
  const auto found = linalg::kappa(features, -0.9 * mean);
  print("centred", found.sigma);
  print("without a bias", found.second_moment);
  print("with the bias", found.with_bias);
  return found.with_bias.value < found.second_moment.value ? 0 : 1;
}
