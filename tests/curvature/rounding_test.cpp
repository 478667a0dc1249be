// SPDX-License-Identifier: Apache-2.0
// Products on a device that rounds factors for speed, and sums that come in no fixed order.
#include <torch/types.h>
#include <torch/utils.h>

#include "curvature/small_problem.h"
#include "kappascope/curvature/spectrum.h"
#include "support/catch.h"
#include "tensor/cuda_devices.h"

using namespace kappascope;
using namespace kappascope::test;
using curvature::ProductKind;

namespace {

/// Two convolutions and a linear layer on images of one device and type.
struct Convolves {
  std::vector<at::Tensor> weights;
  at::Tensor x, labels;

  explicit Convolves(at::TensorOptions options) {
    torch::manual_seed(41);
    for (const auto& weight : {torch::randn({16, 3, 3, 3}) / 5,
                               torch::randn({16, 16, 3, 3}) / 12,
                               torch::randn({5, 16 * 64}) / 32})
      weights.push_back(weight.to(options).requires_grad_());
    x = torch::randn({16, 3, 8, 8}).to(options);
    labels = torch::randint(5, {16}, torch::kLong).to(options.device());
  }
  [[nodiscard]] at::Tensor loss() const {
    const auto first = torch::silu(torch::conv2d(x, weights[0], {}, 1, 1));
    const auto second = torch::silu(torch::conv2d(first, weights[1], {}, 1, 1));
    return torch::cross_entropy_loss(second.flatten(1).matmul(weights[2].t()), labels);
  }
  [[nodiscard]] curvature::NamedParameters named() const {
    return {{"first", weights[0]}, {"second", weights[1]}, {"head", weights[2]}};
  }
};

}  // namespace

TEST_CASE("values that differ by rounding are no randomness, and others are, in value or slope") {
  for (const auto type : {torch::kFloat, torch::kDouble}) {
    auto p = in_type(small_problem(), type);
    const auto parameters = curvature::select_parameters(*p.model);
    const auto exact = dense(*curvature::hessian([&] { return cross_entropy(p); }, parameters));
    const double unit = type == torch::kFloat ? 0x1p-24 : 0x1p-53;
    for (const auto kind :
         {ProductKind::kGraphKept, ProductKind::kRecomputed, ProductKind::kFiniteDifference}) {
      const auto differing = [&](double share, double of_slope) {
        return curvature::hessian(
            [&p, &parameters, share, of_slope, count = 0]() mutable {
              ++count;
              const auto& weight = parameters.front().second;
              const auto slope = weight.sum() - weight.sum().detach();  // and no value
              return cross_entropy(p) * (1 + share * (count % 3)) + of_slope * (count % 5) * slope;
            },
            parameters,
            by(kind));
      };
      CAPTURE(c10::toString(type), curvature::to_string(kind));
      const auto op = differing(4 * unit, 0);
      CHECK(product_error(*op, exact) < op->product_noise());
      CHECK_THROWS_WITH(differing(1e3 * unit, 0), Catch::Contains("not deterministic"));
      CHECK_THROWS_WITH(differing(4 * unit, 1e4 * unit), Catch::Contains("not deterministic"));
    }
  }
}

TEST_CASE("a loss whose sums come in any order is no random one", "[cuda]") {
  if (tensor::cuda_devices().count == 0) {
    WARN("not tried: no CUDA device is there");
    return;
  }
  torch::manual_seed(42);
  const auto options = torch::TensorOptions(torch::kCUDA);
  const auto weight = (torch::randn({32, 32}) / 6).to(options).requires_grad_();
  const auto x = torch::randn({20'000, 32}).to(options);
  const auto to = torch::randint(7, {20'000}, torch::kLong).to(torch::kCUDA);
  for (const auto kind : {ProductKind::kGraphKept, ProductKind::kRecomputed}) {
    const auto op = curvature::hessian(
        [&] {
          const auto sums =
              torch::zeros({7, 32}, options).index_add(0, to, x.matmul(weight).tanh());
          return sums.square().mean();
        },
        {{"weight", weight}},
        by(kind));
    CHECK(curvature::eigenpairs(*op, {.top = 1}).found.status == linalg::KrylovStatus::kConverged);
  }
}

TEST_CASE("convolutions and products on a device have Hessians of float, whatever may round there",
          "[cuda]") {
  if (tensor::cuda_devices().count == 0) {
    WARN("not tried: no CUDA device is there");
    return;
  }
  auto& context = at::globalContext();
  const Convolves exact(torch::TensorOptions(torch::kDouble));
  const auto truth = curvature::hessian([&] { return exact.loss(); }, exact.named());
  const Convolves there(torch::TensorOptions(torch::kCUDA));
  for (const char* matmul : {"highest", "high", "medium"}) {
    context.setFloat32MatmulPrecision(matmul);
    REQUIRE(context.allowTF32CuDNN());  // its default
    for (const auto kind : {ProductKind::kGraphKept, ProductKind::kRecomputed}) {
      CAPTURE(matmul, curvature::to_string(kind));
      const auto op = curvature::hessian([&] { return there.loss(); }, there.named(), by(kind));
      torch::manual_seed(43);
      const auto found = curvature::eigenpairs(*op, {.top = 3}).found;
      CHECK(found.status == linalg::KrylovStatus::kConverged);
      const auto want = curvature::eigenpairs(*truth, {.top = 3, .tolerance = 1e-8}).found;
      for (int i = 0; i < 3; ++i)
        CHECK(std::abs(found.eigenvalues[i] - want.eigenvalues[i]) <= found.bounds()[i]);
      const auto v = torch::randn({op->size()}, torch::kDouble);
      const auto error = op->apply(v).cpu().to(torch::kDouble) - truth->apply(v);
      CHECK(error.norm().item<double>() <
            op->product_noise() * want.eigenvalues[0] * v.norm().item<double>());
    }
  }
  context.setFloat32MatmulPrecision("highest");
}
