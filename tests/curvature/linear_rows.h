// SPDX-License-Identifier: Apache-2.0
// A data set whose curvature is known in the population: linear regression, H = E x xᵀ.
#pragma once

#include <torch/types.h>

#include <memory>
#include <vector>

#include "kappascope/curvature/sampling.h"

namespace kappascope::test {

/// XᵀX/n of some rows.
class LinearRows final : public curvature::CurvatureOperator {
 public:
  explicit LinearRows(at::Tensor x) : x_(std::move(x)) {}
  [[nodiscard]] int64_t size() const override { return x_.size(1); }
  [[nodiscard]] at::TensorOptions vectors() const override { return x_.options(); }
  [[nodiscard]] double product_noise() const override { return 1e-15; }
  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override {
    return x_.t().mv(x_.mv(v.to(torch::kDouble))) / x_.size(0);
  }

 private:
  at::Tensor x_;
};

enum class Tails { kGaussian, kStudent };

/// [rows, d] independent rows with the covariance diag(spectrum); Student's t has 5 degrees of
/// freedom, one scale a row.
inline at::Tensor drawn_rows(int64_t rows,
                             const std::vector<double>& spectrum,
                             Tails tails,
                             uint64_t seed) {
  const auto generator = at::detail::createCPUGenerator(seed);
  const auto options = torch::TensorOptions(torch::kDouble);
  auto x = at::randn({rows, std::ssize(spectrum)}, generator, options);
  x = x * torch::tensor(spectrum, options).sqrt();
  if (tails == Tails::kGaussian) return x;
  constexpr int kFreedom = 5;
  const auto chi = at::randn({rows, kFreedom}, generator, options).square().sum(1, true);
  return x * torch::sqrt((kFreedom - 2) / chi);
}

inline curvature::RowsOperator operator_of(const at::Tensor& x) {
  return
      [x](const at::Tensor& rows) { return std::make_unique<LinearRows>(x.index_select(0, rows)); };
}

/// The same, which keeps the rows of every call in `asked`.
inline curvature::RowsOperator operator_of(const at::Tensor& x, std::vector<at::Tensor>& asked) {
  return [inner = operator_of(x), &asked](const at::Tensor& rows) {
    asked.push_back(rows.clone());
    return inner(rows);
  };
}

}  // namespace kappascope::test
