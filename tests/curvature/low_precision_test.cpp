// SPDX-License-Identifier: Apache-2.0
// Products of losses that are taken in 16 bits.
#include <ATen/autocast_mode.h>
#include <torch/types.h>

#include "curvature/small_problem.h"
#include "kappascope/curvature/spectrum.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::test;
using curvature::ProductKind;

namespace {

template <typename Function>
auto under_autocast(at::ScalarType type, const Function& function) {
  at::autocast::set_autocast_enabled(at::kCPU, true);
  at::autocast::set_autocast_dtype(at::kCPU, type);
  auto value = function();
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(at::kCPU, false);
  return value;
}

}  // namespace

TEST_CASE("products under autocast are right to their stated noise and it is that of 16 bits") {
  auto single = in_type(small_problem(), torch::kFloat);
  auto exact = in_type(single, torch::kDouble);
  const auto parameters = curvature::select_parameters(*single.model);
  const auto wide = curvature::select_parameters(*exact.model);
  const auto hessian = dense(*curvature::hessian([&] { return cross_entropy(exact); }, wide));
  const auto gauss_newton = dense(*curvature::gauss_newton(
      [&] { return exact.model->forward(exact.x); }, curvature::OutputLoss::kCrossEntropy, wide));
  for (const auto type : {torch::kHalf, torch::kBFloat16}) {
    for (const auto kind : {ProductKind::kGraphKept, ProductKind::kRecomputed}) {
      CAPTURE(c10::toString(type), curvature::to_string(kind));
      const auto h = curvature::hessian(
          [&] { return under_autocast(type, [&] { return cross_entropy(single); }); },
          parameters,
          by(kind));
      const auto g = curvature::gauss_newton(
          [&] { return under_autocast(type, [&] { return single.model->forward(single.x); }); },
          curvature::OutputLoss::kCrossEntropy,
          parameters,
          by(kind));
      for (const auto& [op, matrix] : {std::pair(h.get(), &hessian), {g.get(), &gauss_newton}}) {
        CHECK(op->product_noise() == (type == torch::kHalf ? 0x1p-7 : 0x1p-4));
        const double error = product_error(*op, *matrix);
        CHECK(error < op->product_noise());
        CHECK(error > 16 * 0x1p-24);  // what the parameters' own type would promise
      }
    }
  }
}

TEST_CASE("the largest eigenvalues under autocast lie within the bounds that come with them") {
  auto single = in_type(small_problem(), torch::kFloat);
  auto exact = in_type(single, torch::kDouble);
  const auto truth = eigenvalues(dense(*curvature::hessian(
      [&] { return cross_entropy(exact); }, curvature::select_parameters(*exact.model))));
  for (const auto type : {torch::kHalf, torch::kBFloat16}) {
    const auto op = curvature::hessian(
        [&] { return under_autocast(type, [&] { return cross_entropy(single); }); },
        curvature::select_parameters(*single.model));
    const auto found = curvature::eigenpairs(*op, {.top = 2}).found;
    double worst = 0;
    for (int i = 0; i < 2; ++i) {
      const double error = (truth.array() - found.eigenvalues[i]).abs().minCoeff();
      CHECK(error <= found.bounds()[i]);
      worst = std::max(worst, error);
    }
    CHECK(worst > 16 * 0x1p-24 * found.magnitude());  // what float32 would promise
  }
}

TEST_CASE("products in half precision are right to their stated noise, and come in float32") {
  auto p = small_problem();
  for (const auto type : {torch::kHalf, torch::kBFloat16}) {
    auto low = in_type(p, type);
    auto exact = in_type(low, torch::kDouble);
    const auto rough = every_operator(low, ProductKind::kAutomatic);
    const auto want = every_operator(exact, ProductKind::kAutomatic);
    for (std::size_t i = 0; i < rough.size(); ++i) {
      CAPTURE(c10::toString(type), i);
      CHECK(rough[i]->vectors().dtype() == torch::kFloat);
      CHECK(rough[i]->product_noise() == (type == torch::kHalf ? 0x1p-7 : 0x1p-4));
      const auto matrix = dense(*want[i]);
      const double error = product_error(*rough[i], matrix);
      CHECK(error < rough[i]->product_noise());
      CHECK(error > 16 * 0x1p-24);  // what float32 would promise
      // A direction that is tiny does not vanish.
      const auto v = torch::ones({rough[i]->size()});
      const auto scaled = rough[i]->apply(v * 1e-12) * 1e12;
      CHECK((scaled - rough[i]->apply(v)).norm().item<double>() <
            rough[i]->product_noise() * operator_norm(matrix) * v.norm().item<double>());
    }
  }
}
