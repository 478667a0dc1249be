// SPDX-License-Identifier: Apache-2.0
#include "tensor/centre.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <limits>

#include "kappascope/tensor/moments.h"
#include "support/catch.h"
#include "tensor/device.h"

using namespace kappascope;

namespace {

at::Tensor awkward_rows() {
  torch::manual_seed(1);
  auto rows = torch::randn({300, 70}) * 3 + 5;
  rows[4][69] = std::numeric_limits<float>::quiet_NaN();
  rows[200][0] = -std::numeric_limits<float>::infinity();
  rows[201][0] = std::numeric_limits<float>::infinity();
  return rows;
}

}  // namespace

TEST_CASE("rows left out become zero and are counted once") {
  const auto rows = awkward_rows();
  auto mask = torch::ones({300}, torch::kBool);
  mask[200] = false;
  mask[7] = false;
  const auto shift = torch::full({70}, 5.F);
  const auto got = tensor::centre(rows, mask, shift);
  CHECK(got.kept == 296);
  CHECK(got.nonfinite == 2);
  for (const int64_t left_out : {4, 7, 200, 201})
    CHECK(got.rows[left_out].abs().sum().item<float>() == 0);
  CHECK(torch::equal(got.rows[5], rows[5] - 5));
  CHECK(torch::allclose(got.sums, got.rows.to(torch::kDouble).sum(0, /*keepdim=*/true), 1e-5));
  const auto clean = tensor::centre(rows.narrow(0, 10, 50), {}, shift);
  CHECK_FALSE(clean.keep.defined());
  CHECK(clean.kept == 50);
}

TEST_CASE("each group has its sum") {
  torch::manual_seed(2);
  // Numbers of few bits: every sum is exact, whatever the order.
  const auto rows = torch::randint(-8, 8, {1200, 33}, torch::kFloat);
  auto mask = torch::ones({1200}, torch::kBool);
  mask.narrow(0, 100, 250).fill_(false);
  const auto wanted = (rows - 2) * mask.unsqueeze(1);
  for (const int64_t rows_per_group : {2, 150, 1200}) {
    const auto got = tensor::centre(rows, mask, torch::full({33}, 2.F), rows_per_group);
    const auto sums = wanted.view({-1, rows_per_group, 33}).sum(1, /*keepdim=*/false);
    CHECK(torch::equal(got.sums, sums.to(torch::kDouble)));
    const auto squares = wanted.square().view({-1, rows_per_group, 33}).sum(1, /*keepdim=*/false);
    CHECK(torch::equal(got.squares, squares.to(torch::kDouble)));
    const auto y = wanted.to(torch::kDouble), lengths = y.square().sum(1);
    CHECK(torch::equal(got.powers[0], y.pow(3).sum(0)));
    CHECK(torch::equal(got.powers[1], y.pow(4).sum(0)));
    CHECK(torch::equal(got.powers[2], torch::mv(y.t(), lengths)));
    CHECK(got.length_fourth == lengths.square().sum().item<double>());
  }
}

TEST_CASE("the kernel gives the host's bits for float, half and bfloat16", "[cuda]") {
  if (no_device()) return;
  const auto shift = torch::full({70}, 4.75F);
  auto mask = torch::ones({300}, torch::kBool);
  mask[7] = false;
  for (const auto type : {torch::kFloat, torch::kHalf, torch::kBFloat16}) {
    const auto rows = awkward_rows().to(type);
    const auto want = tensor::centre(rows, mask, shift);
    const auto got = tensor::centre(rows.cuda(), mask.cuda(), shift.cuda());
    CHECK(torch::equal(got.rows.cpu(), want.rows));
    CHECK(torch::equal(got.keep.cpu(), want.keep));
    CHECK(got.kept == want.kept);
    CHECK(got.nonfinite == want.nonfinite);
    CHECK(torch::allclose(got.sums.cpu(), want.sums, 1e-6));
    CHECK(torch::allclose(got.squares.cpu(), want.squares, 1e-6));
    CHECK(torch::allclose(got.powers.cpu(), want.powers, 1e-12));
    CHECK(got.length_fourth == Approx(want.length_fourth).epsilon(1e-12));
  }
}

TEST_CASE("moments of rows on a device agree with those on the host within the float bound",
          "[cuda]") {
  if (no_device()) return;
  // Also where LibTorch may round the factors of its products to TF32, which the bound tells apart.
  for (const auto* precision : {"highest", "high"}) {
    for (const auto type : {torch::kFloat, torch::kHalf, torch::kBFloat16}) {
      const auto rows = awkward_rows().to(type);
      tensor::MomentAccumulator host(70), device(70);
      for (const auto& part : rows.split(100)) host.update(part);
      at::globalContext().setFloat32MatmulPrecision(precision);
      for (const auto& part : rows.split(100)) device.update(part.cuda());
      at::globalContext().setFloat32MatmulPrecision("highest");
      const auto want = host.result(), got = device.result();
      CHECK(got.n == want.n);
      CHECK(got.nonfinite_rows == want.nonfinite_rows);
      const Eigen::VectorXd scale = want.covariance.diagonal().cwiseSqrt();
      const double gap =
          ((got.covariance - want.covariance).array() / (scale * scale.transpose()).array())
              .abs()
              .maxCoeff();
      // At most 300 rows lie in a block.
      CHECK(gap < 2 * (300 + 2) * 0x1p-24);
      CHECK(got.sample == want.sample);
    }
  }
}
