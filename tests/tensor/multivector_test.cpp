// SPDX-License-Identifier: Apache-2.0
#include "tensor/multivector/multivector.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <vector>

#include "support/catch.h"
#include "tensor/convert.h"

using namespace kappascope;

namespace {

const auto& kernels = tensor::MultivectorKernels::on(torch::kCPU);

struct Case {
  std::vector<at::Tensor> columns;
  at::Tensor w;
  Eigen::MatrixXd a;  // the columns
  Eigen::VectorXd b;  // w
};

Case drawn(std::int64_t n, std::int64_t count, at::ScalarType type) {
  torch::manual_seed(7);
  Case one;
  one.a.resize(n, count);
  for (std::int64_t i = 0; i < count; ++i) {
    one.columns.push_back(torch::randn({n}, type));
    one.a.col(i) = tensor::to_vector(one.columns.back());
  }
  one.w = torch::randn({n}, torch::kDouble);
  one.b = tensor::to_vector(one.w);
  return one;
}

// A double sum of n terms is off by n rounding errors of the sum of magnitudes at most.
double sum_error(std::int64_t n, double magnitudes) {
  return static_cast<double>(n) * 0x1p-53 * magnitudes;
}

Eigen::MatrixXd matrix(const std::vector<at::Tensor>& columns) {
  return tensor::to_matrix(torch::stack(columns)).transpose();
}

}  // namespace

TEST_CASE("columns are multiplied, subtracted and combined as matrices are, of any length") {
  for (const auto type : {torch::kFloat, torch::kDouble}) {
    for (const std::int64_t n : {1, 7, 4096, 4097, 30001}) {
      CAPTURE(n, c10::toString(type));
      const auto fresh = [&] { return drawn(n, 5, type); };
      const auto one = fresh();
      const Eigen::VectorXd want = one.a.transpose() * one.b;
      const double bound = sum_error(n, (one.a.cwiseAbs().transpose() * one.b.cwiseAbs()).sum());
      for (const auto& got : {kernels.dots(one.columns, one.w),
                              tensor::MultivectorKernels::torch().dots(one.columns, one.w)})
        CHECK((got - want).cwiseAbs().maxCoeff() <= bound);

      const Eigen::VectorXd c = Eigen::VectorXd::LinSpaced(5, -1, 2);
      const Eigen::VectorXd rest = one.b - one.a * c;
      const double each = 6 * 0x1p-53 * (one.b.norm() + 5 * one.a.norm());
      auto host = fresh(), anywhere = fresh();
      CHECK(std::abs(kernels.subtract(host.columns, c, host.w) - rest.norm()) <=
            sum_error(n, 2 * rest.norm()) + each);
      tensor::MultivectorKernels::torch().subtract(anywhere.columns, c, anywhere.w);
      CHECK((tensor::to_vector(host.w) - rest).cwiseAbs().maxCoeff() <= each);
      CHECK((tensor::to_vector(anywhere.w) - rest).cwiseAbs().maxCoeff() <= each);

      // The same in one pass; a column without a share is left out.
      auto both = fresh();
      Eigen::VectorXd some = c;
      some[2] = 0;
      const Eigen::VectorXd left = both.b - both.a * some;
      const auto products = kernels.subtract_dots(both.columns, some, both.w);
      CHECK((tensor::to_vector(both.w) - left).cwiseAbs().maxCoeff() <= each);
      CHECK((products - both.a.transpose() * left).cwiseAbs().maxCoeff() <=
            sum_error(n, (both.a.cwiseAbs().transpose() * left.cwiseAbs()).sum()) +
                each * both.a.cwiseAbs().colwise().sum().maxCoeff());
      CHECK(std::abs(kernels.norm(both.w) - left.norm()) <= sum_error(n, 2 * left.norm()) + each);
      kernels.store(0.5, both.w, both.columns[0]);
      CHECK(torch::equal(both.columns[0], (both.w * 0.5).to(type)));

      const Eigen::MatrixXd y = Eigen::MatrixXd::NullaryExpr(
          5, 3, [](Eigen::Index i, Eigen::Index j) { return std::sin(1.0 + i + 5.0 * j); });
      // The result is rounded to the columns' own type.
      const double unit = type == torch::kFloat ? 0x1p-24 : 6 * 0x1p-53;
      const Eigen::MatrixXd combined = one.a * y;
      kernels.combine(host.columns, y);
      tensor::MultivectorKernels::torch().combine(anywhere.columns, y);
      for (const auto* all : {&host.columns, &anywhere.columns}) {
        const Eigen::MatrixXd got = matrix(*all);
        CHECK((got.leftCols(3) - combined).cwiseAbs().maxCoeff() <=
              2 * unit * (one.a.cwiseAbs() * y.cwiseAbs()).maxCoeff());
        CHECK((got.rightCols(2) - one.a.rightCols(2)).norm() == 0);
      }
    }
  }
}

TEST_CASE("sums over millions of float32 numbers are those of double") {
  constexpr std::int64_t kLength = 4'000'003;
  const auto one = drawn(kLength, 1, torch::kFloat);
  const auto column = one.columns.front();
  const double want = one.a.col(0).squaredNorm();
  const double got = kernels.dots(one.columns, column.to(torch::kDouble))[0];
  CHECK(std::abs(got - want) <= sum_error(kLength, want));
  // The bound tells the two apart: one running sum in float32 is far outside.
  float naive = 0;
  const auto* at = column.const_data_ptr<float>();
  for (std::int64_t j = 0; j < kLength; ++j) naive += at[j] * at[j];
  CHECK(std::abs(static_cast<double>(naive) - want) > 100 * sum_error(kLength, want));
}

TEST_CASE("no columns are no work") {
  auto w = torch::ones({3}, torch::kDouble);
  CHECK(kernels.dots({}, w).size() == 0);
  kernels.subtract({}, {}, w);
  kernels.combine({}, {});
  CHECK(torch::equal(w, torch::ones({3}, torch::kDouble)));
}
