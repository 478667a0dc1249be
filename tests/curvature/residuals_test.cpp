// SPDX-License-Identifier: Apache-2.0
// Stated residuals against float64 products, at sizes where float32 sums would spoil them.
#include <torch/nn/functional/loss.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <memory>

#include "kappascope/curvature/spectrum.h"
#include "support/catch.h"
#include "support/gated_stack.h"

using namespace kappascope;

namespace {

void check_residuals(int64_t width, int64_t hidden, int64_t blocks, int64_t at_least) {
  torch::manual_seed(5);
  testing::GatedStack low(
      testing::GatedStackOptions(784, 10).width(width).hidden(hidden).blocks(blocks));
  const auto x = torch::rand({64, 784});
  const auto y = torch::randint(10, {64}, torch::kLong);
  const auto loss = [&](testing::GatedStack& model) {
    return torch::nn::functional::cross_entropy(
        model->forward(x.to(model->embed->weight.scalar_type())), y);
  };
  torch::optim::SGD descent(low->parameters(), 0.1);
  for (int step = 0; step < 5; ++step) {
    descent.zero_grad();
    loss(low).backward();
    descent.step();
  }
  testing::GatedStack high(std::dynamic_pointer_cast<testing::GatedStackImpl>(low->clone()));
  high->to(torch::kDouble);
  linalg::LanczosOptions options;
  options.top = 2;
  options.vectors = true;
  curvature::Eigenpairs pairs;
  {
    const auto op =
        curvature::hessian([&] { return loss(low); }, curvature::select_parameters(*low));
    REQUIRE(op->size() >= at_least);
    pairs = curvature::eigenpairs(*op, options);
  }
  REQUIRE(pairs.found.status == linalg::KrylovStatus::kConverged);
  const auto exact =
      curvature::hessian([&] { return loss(high); }, curvature::select_parameters(*high));
  for (int i = 0; i < 2; ++i) {
    CAPTURE(i);
    const auto v = pairs.vectors[i].to(torch::kDouble);
    const auto off = exact->apply(v) - pairs.found.eigenvalues[i] * v;
    const double truth = off.square().sum().sqrt().item<double>();
    CHECK(pairs.found.residuals[i] <= 2 * truth);
    CHECK(truth <= 2 * pairs.found.residuals[i]);
  }
}

}  // namespace

TEST_CASE("residuals are true to a factor of two at a hundred thousand parameters") {
  check_residuals(64, 128, 2, 100'000);
}

TEST_CASE("residuals are true to a factor of two at a million parameters") {
  check_residuals(256, 512, 3, 1'300'000);
}

TEST_CASE("residuals are true to a factor of two at twenty million parameters", "[.slow]") {
  check_residuals(1024, 3100, 2, 19'800'000);
}
