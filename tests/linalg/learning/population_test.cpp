// SPDX-License-Identifier: Apache-2.0
#include "linalg/learning/population.h"

#include <cmath>

#include "support/catch.h"

using namespace kappascope::linalg;

namespace {

constexpr Eigen::Index kD = 8;

/// Curves of diag(1/8, 2/8, …, 1), with c = 2 e_8, of a part that its own rows try.
Trained trained_on_itself() {
  const Eigen::ArrayXd values = Eigen::ArrayXd::LinSpaced(kD, 1.0 / kD, 1);
  Trained part;
  part.top = 1;
  part.lambdas = lambdas_below(1);
  const auto curve = [&](const Eigen::ArrayXd& weights) {
    Curve at;
    at.low.resize(part.lambdas.size());
    for (Eigen::Index i = 0; i < at.low.size(); ++i)
      at.low(i) = (weights / (values + part.lambdas(i))).sum();
    at.high = at.low;
    at.total = weights.sum();
    return at;
  };
  Eigen::ArrayXd c = Eigen::ArrayXd::Zero(kD);
  c(kD - 1) = 2;
  part.own = curve(values);
  part.held = {curve(values)};
  part.along.push_back({{curve(c.square())}, {}});
  part.top_held = {1};
  return part;
}

}  // namespace

TEST_CASE("a larger λmax makes an updated matrix slower, by the share that it adds") {
  const Trained part = trained_on_itself();
  const Population population({{&part, {0}, 1}});
  CHECK(population.largest() == Approx(1));
  const auto at = [&](double largest) { return population.log_steps(0, 0, largest); };
  // λmax of the update is 1 + 2² where that of Σ is 1, and 2 + 2² where it is 2. Far from the first
  // step, times grow as λmax does; the fitted nodes lie within a few per cent of 1.
  const double ratio = std::exp(at(2)(2) - at(population.largest())(2));
  CHECK(ratio == Approx(6.0 / 5).epsilon(0.03));
}
