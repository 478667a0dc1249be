// SPDX-License-Identifier: Apache-2.0
#include "curvature/averaged.h"

#include <torch/types.h>

#include <cmath>
#include <functional>
#include <optional>
#include <string>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/matrices.h"
#include "support/thread_group.h"

using namespace kappascope;

namespace {

/// A matrix as an operator; its product number `fails_at` throws.
class Dense final : public curvature::CurvatureOperator {
 public:
  explicit Dense(at::Tensor matrix, int fails_at = -1)
      : matrix_(std::move(matrix)), fails_at_(fails_at) {}
  [[nodiscard]] int64_t size() const override { return matrix_.size(0); }
  [[nodiscard]] at::TensorOptions vectors() const override { return matrix_.options(); }
  [[nodiscard]] double product_noise() const override { return 1e-9 * static_cast<double>(size()); }
  [[nodiscard]] at::Tensor gradient() const override { return matrix_[0]; }
  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override {
    if (products_++ == fails_at_) throw Error("no product");
    return matrix_.mv(v);
  }

 private:
  at::Tensor matrix_;
  int fails_at_;
  mutable int products_ = 0;
};

/// Without random numbers: threads share their generator.
at::Tensor symmetric(int64_t n, int64_t which) {
  const auto a =
      torch::sin(torch::arange(n * n, torch::kDouble) * (1.7 + static_cast<double>(which)))
          .view({n, n});
  return a + a.t();
}

/// Process 0 works with the mean of the operators that `mine(rank)` gives.
void together(int size,
              const std::function<Dense(int rank)>& mine,
              const std::function<void(const curvature::CurvatureOperator&)>& work) {
  testing::in_threads(size, [&](const auto& group) {
    const auto op = mine(group->rank());
    if (!group->leads()) return curvature::serve(op, *group);
    const auto mean = curvature::averaged(op, *group);
    work(*mean);
  });
}

}  // namespace

TEST_CASE("the curvature of a group is the mean of its processes'") {
  at::Tensor product, gradient;
  double noise = 0;
  const auto v = torch::linspace(-1, 2, 6, torch::kDouble);
  together(
      3,
      [](int rank) { return Dense(symmetric(6, rank)); },
      [&](const auto& mean) {
        product = mean.apply(v);
        product = mean.apply(product);
        gradient = mean.gradient();
        noise = mean.product_noise();
      });
  const auto mean = (symmetric(6, 0) + symmetric(6, 1) + symmetric(6, 2)) / 3;
  CHECK(torch::allclose(product, mean.mv(mean.mv(v)), 1e-14, 1e-14));
  CHECK(torch::allclose(gradient, mean[0], 1e-14, 1e-14));
  CHECK(noise == Approx(6e-9));
}

TEST_CASE("a product that fails in one process leaves none waiting") {
  double sum = 0;
  together(
      2,
      [](int rank) { return Dense(symmetric(4, rank), rank == 1 ? 0 : -1); },
      [&](const auto& mean) {
        sum = mean.apply(torch::ones({4}, torch::kDouble)).sum().template item<double>();
      });
  CHECK(std::isnan(sum));
  // In process 0 it is that process's own error, and the others go on.
  std::optional<std::string> said;
  together(
      2,
      [](int rank) { return Dense(symmetric(4, rank), rank == 0 ? 0 : -1); },
      [&](const auto& mean) {
        try {
          static_cast<void>(mean.apply(torch::ones({4}, torch::kDouble)));
        } catch (const Error& error) {
          said = error.what();
        }
      });
  CHECK(said == "no product");
}

TEST_CASE("operators of different size have no mean, and every process hears of it") {
  std::vector<std::string> said(2);
  testing::in_threads(2, [&](const auto& group) {
    const Dense op(symmetric(4 + group->rank(), 0));
    try {
      if (group->leads()) {
        static_cast<void>(curvature::averaged(op, *group));
      } else {
        curvature::serve(op, *group);
      }
    } catch (const Error& error) {
      said[static_cast<std::size_t>(group->rank())] = error.what();
    }
  });
  for (const auto& text : said) CHECK_THAT(text, Catch::Contains("different parameters"));
}
