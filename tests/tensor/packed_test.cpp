// SPDX-License-Identifier: Apache-2.0
#include "tensor/packed.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/catch.h"
#include "tensor/convert.h"
#include "tensor/multivector/multivector.h"

using namespace kappascope;

namespace {

const auto& kernels = tensor::MultivectorKernels::on(torch::kCPU);

at::Tensor packed(const at::Tensor& w) {
  const auto column = torch::empty({tensor::packed_length(w.numel())}, torch::kShort);
  kernels.store(1, w, column);
  return column;
}

double error_of(const at::Tensor& w) {
  const auto back = tensor::unpacked(packed(w), w.numel()).to(torch::kDouble);
  return (back - w).norm().item<double>() / w.norm().item<double>();
}

}  // namespace

TEST_CASE("a packed vector is within the stated error, of any length and shape") {
  torch::manual_seed(3);
  for (const std::int64_t n : {1, 63, 64, 65, 4096, 30001}) {
    CAPTURE(n);
    const auto normal = torch::randn({n}, torch::kDouble);
    CHECK(error_of(normal) <= tensor::kPackedError / 4);
    // Magnitudes over thirty orders, block by block and within a block.
    CHECK(error_of(normal * torch::exp(torch::randn({n}, torch::kDouble) * 10)) <=
          tensor::kPackedError);
    CHECK(error_of(normal * 1e-30) <= tensor::kPackedError / 4);
  }
  // The bound is that of a block: one large element, and the others half a step off.
  auto worst = torch::full({64}, 0.5, torch::kDouble);
  worst[0] = 32767;
  CHECK(error_of(worst) <= tensor::kPackedError);
  auto halves = torch::full({64}, 0.49, torch::kDouble);
  halves[0] = 32767;
  CHECK(error_of(halves) > 0.9 * tensor::kPackedError);
  // One factor for the whole vector would lose the small half.
  const auto two = torch::cat({torch::ones({64}, torch::kDouble), torch::full({64}, 1e-6)});
  CHECK(tensor::unpacked(packed(two), 128)[100].item<float>() == Approx(1e-6).epsilon(1e-4));
}

TEST_CASE("what a packed column cannot hold stays visible") {
  CHECK(
      tensor::unpacked(packed(torch::zeros({70}, torch::kDouble)), 70).abs().sum().item<float>() ==
      0);
  // Where float32 has too few digits for the factor, nothing is kept rather than something else.
  for (const double small : {1e-34, 1e-38, 5e-41, 1e-44}) {
    CAPTURE(small);
    const auto back = tensor::unpacked(packed(torch::full({64}, small, torch::kDouble)), 64);
    CHECK(back.abs().max().item<float>() == 0);
  }
  for (const double odd :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    auto w = torch::ones({130}, torch::kDouble);
    w[70] = odd;
    const auto back = tensor::unpacked(packed(w), 130);
    CHECK(std::isnan(back[70].item<float>()));
    CHECK(back[3].item<float>() == 1);
    CHECK(back[129].item<float>() == 1);
  }
}

TEST_CASE("packed columns are multiplied, subtracted and combined as what they hold") {
  torch::manual_seed(5);
  for (const std::int64_t n : {1, 64, 4097, 600001}) {
    CAPTURE(n);
    std::vector<at::Tensor> columns, plain;
    for (int i = 0; i < 5; ++i) {
      columns.push_back(packed(torch::randn({n}, torch::kDouble)));
      plain.push_back(tensor::unpacked(columns.back(), n).to(torch::kDouble));
    }
    const auto w = torch::randn({n}, torch::kDouble);
    const Eigen::VectorXd c = Eigen::VectorXd::LinSpaced(5, -1, 2);
    // unpacked() rounds a product to float32.
    const double unit = 0x1p-24, length = w.norm().item<double>();
    const double columns_length = std::sqrt(static_cast<double>(n)) * 2;
    const double off = unit * columns_length * (length + 5 * 2 * columns_length);
    CHECK((kernels.dots(columns, w) - kernels.dots(plain, w)).cwiseAbs().maxCoeff() <= off);
    const auto a = w.clone(), b = w.clone();
    CHECK((kernels.subtract_dots(columns, c, a) - kernels.subtract_dots(plain, c, b))
              .cwiseAbs()
              .maxCoeff() <= 6 * off);
    CHECK((a - b).norm().item<double>() <= unit * c.cwiseAbs().sum() * columns_length);
    CHECK(std::abs(kernels.subtract(columns, c, a) - kernels.subtract(plain, c, b)) <=
          2 * unit * c.cwiseAbs().sum() * columns_length);

    const Eigen::MatrixXd y = Eigen::MatrixXd::NullaryExpr(
        5, 3, [](Eigen::Index i, Eigen::Index j) { return std::sin(1.0 + i + 5.0 * j); });
    const auto last = columns[4].clone();
    kernels.combine(columns, y);
    kernels.combine(plain, y);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto got = tensor::unpacked(columns[i], n).to(torch::kDouble);
      CHECK((got - plain[i]).norm().item<double>() <=
            (tensor::kPackedError + 10 * unit) * plain[i].norm().item<double>());
    }
    CHECK(torch::equal(columns[4], last));
  }
}
