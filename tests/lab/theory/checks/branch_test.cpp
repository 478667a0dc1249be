// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/isotropy/branch.h"

#include <algorithm>
#include <cmath>

#include "support/catch.h"
#include "theory/checks/isotropy/branch_offset.h"
#include "theory/exact/linalg.h"

using namespace kappascope::theory;

namespace {

/// Layer normalisation in floating point, as everybody writes it.
Matrix<double> layer_norm(const BranchCase& one) {
  const Matrix<double> projected = to_double(one.tokens) * to_double(one.weights).transpose();
  const double k = static_cast<double>(one.dimension());
  Matrix<double> out = projected;
  for (Index i = 0; i < out.rows(); ++i) {
    const double mean = projected.row(i).sum() / k;
    const Matrix<double> centred = projected.row(i).map([&](double x) { return x - mean; });
    const double variance = centred.squared_norm() / k + one.epsilon.to_double();
    for (Index j = 0; j < out.cols(); ++j) {
      out(i, j) = variance == 0 ? 0 : one.gain(j).to_double() * centred(0, j) / std::sqrt(variance);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("the second moment is that of LayerNorm's outputs") {
  for (const auto& one : branch_cases(1, 300)) {
    const Matrix<double> z = layer_norm(one);
    const Matrix<double> moment = z.transpose() * z / static_cast<double>(z.rows());
    REQUIRE((moment - to_double(one.second_moment())).norm() <= 1e-12 * (1 + moment.norm()));
  }
}

TEST_CASE("the cases hold every kind in number and both ends of the bound") {
  const auto cases = branch_cases(1, 2200);
  const auto count = [&](const auto& is) { return std::count_if(cases.begin(), cases.end(), is); };
  CHECK(cases.size() > 2000);
  CHECK(count([](const auto& one) { return rank(one.centred()) == 1; }) > 300);
  CHECK(count([](const auto& one) { return rank(one.centred()) == one.dimension() - 1; }) > 300);
  CHECK(count([](const auto& one) { return one.dimension() == 5; }) > 200);
  CHECK(count([](const auto& one) { return one.epsilon != 0; }) > 200);
  CHECK(count([](const auto& one) { return one.gain != Vector<Rational>::ones(one.gain.size()); }) >
        200);
  CHECK(count([](const auto& one) { return one.weights.rows() > one.weights.cols(); }) > 300);
  CHECK(count([](const auto& one) { return one.weights.rows() < one.weights.cols(); }) > 200);
}

TEST_CASE("the first layer of the offsets is nothing but its bias") {
  const auto layer = branch_layers(1, 0).front();
  for (const int token : {-3, 0, 1, 7}) {
    const Vector<Rational> x = Vector<Rational>::ones(1) * token;
    CHECK(layer.output(x, Vector<Rational>::ones(1))(0) == 1);
    CHECK(layer.output(x, Vector<Rational>::zero(1))(0) == 0);
  }
}
