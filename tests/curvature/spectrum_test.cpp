// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/spectrum.h"

#include <torch/nn/functional/loss.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "curvature/tensor_basis.h"
#include "kappascope/core/error.h"
#include "linalg/lanczos_in.h"
#include "linalg/quadrature_in.h"
#include "support/catch.h"
#include "support/gated_stack.h"
#include "tensor/convert.h"
#include "tensor/packed.h"

using namespace kappascope;

namespace {

/// A matrix as a curvature operator, in the type of its entries.
class Dense final : public curvature::CurvatureOperator {
 public:
  explicit Dense(at::Tensor matrix) : matrix_(std::move(matrix)) {}
  [[nodiscard]] int64_t size() const override { return matrix_.size(0); }
  [[nodiscard]] at::TensorOptions vectors() const override { return matrix_.options(); }
  [[nodiscard]] double product_noise() const override {
    return matrix_.scalar_type() == torch::kDouble ? 1e-15 : 1e-6;
  }
  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override {
    return matrix_.mv(v.to(matrix_.scalar_type()));
  }

 private:
  at::Tensor matrix_;
};

/// Q diag(values) Qᵀ with a random orthogonal Q.
at::Tensor with_spectrum(const std::vector<double>& values) {
  torch::manual_seed(3);
  const auto n = std::ssize(values);
  const auto q = std::get<0>(torch::linalg_qr(torch::randn({n, n}, torch::kDouble)));
  return q.mm(torch::diag(torch::tensor(values, torch::kDouble))).mm(q.t());
}

std::vector<double> decaying(int n, std::vector<double> values) {
  while (std::ssize(values) < n) values.push_back(std::cos(static_cast<double>(values.size())));
  return values;
}

struct Trained {
  testing::GatedStack model{nullptr};
  at::Tensor x, y;
  [[nodiscard]] at::Tensor loss() {
    return torch::nn::functional::cross_entropy(model->forward(x), y);
  }
};

/// A gated MLP of a hundred thousand parameters after a few steps of descent.
Trained trained() {
  torch::manual_seed(5);
  Trained t;
  t.model =
      testing::GatedStack(testing::GatedStackOptions(784, 10).width(64).hidden(128).blocks(2));
  t.x = torch::rand({128, 784});
  t.y = torch::randint(10, {128}, torch::kLong);
  torch::optim::SGD descent(t.model->parameters(), 0.1);
  for (int step = 0; step < 20; ++step) {
    descent.zero_grad();
    t.loss().backward();
    descent.step();
  }
  return t;
}

/// A TensorBasis that knows how many columns it was ever given.
class Counting : public curvature::TensorBasis {
 public:
  using TensorBasis::TensorBasis;
  void store(Eigen::Index i, double factor) {
    TensorBasis::store(i, factor);
    count_ = std::max(count_, i + 1);
  }
  [[nodiscard]] Eigen::Index count() const { return count_; }

 private:
  Eigen::Index count_ = 0;
};

}  // namespace

TEST_CASE("both ends come in float32 and float64, with orthonormal vectors of their own type") {
  const auto matrix = with_spectrum(decaying(300, {40, 39, 20, 20, -30, -29}));
  for (const auto type : {torch::kFloat, torch::kDouble}) {
    CAPTURE(c10::toString(type));
    const Dense op(matrix.to(type));
    linalg::LanczosOptions options;
    options.top = 2;
    options.which = linalg::SpectrumEnd::kBoth;
    options.tolerance = 1e-5;
    options.vectors = true;
    const auto pairs = curvature::eigenpairs(op, options);
    REQUIRE(pairs.found.status == linalg::KrylovStatus::kConverged);
    const std::vector<double> want{40, 39, -29, -30};
    for (int i = 0; i < 4; ++i)
      CHECK(std::abs(pairs.found.eigenvalues[i] - want[static_cast<std::size_t>(i)]) < 40e-5);
    REQUIRE(pairs.vectors.sizes() == at::IntArrayRef{4, 300});
    CHECK(pairs.vectors.scalar_type() == type);
    const auto v = pairs.vectors.to(torch::kDouble);
    CHECK((v.mm(v.t()) - torch::eye(4, torch::kDouble)).abs().max().item<double>() < 1e-6);
    // The stated residual is the one of the matrix itself.
    const auto values = tensor::from_vector(pairs.found.eigenvalues).unsqueeze(1);
    const auto residual = (v.mm(matrix) - values * v).norm(2, 1);
    for (int i = 0; i < 4; ++i)
      CHECK(std::abs(residual[i].item<double>() - pairs.found.residuals[i]) < 40 * 2e-6);
  }
}

TEST_CASE("packed vectors give pairs that products in full precision confirm") {
  const auto matrix = with_spectrum(decaying(300, {40, 39, 20, 18, 15, -30}));
  const Dense op(matrix.to(torch::kFloat));
  REQUIRE(curvature::TensorBasis::may_be_packed(op));
  REQUIRE(!curvature::TensorBasis::may_be_packed(Dense(matrix)));
  linalg::LanczosOptions options;
  options.top = 3;
  options.vectors = true;
  options.max_basis = 12;  // restarts, whose rotations are packed again
  curvature::TensorBasis basis(op, true);
  const double noise = std::hypot(op.product_noise(), tensor::kPackedError);
  const auto found = linalg::lanczos_in(basis, noise, options);
  REQUIRE(found.status == linalg::KrylovStatus::kConverged);
  const auto vectors = basis.take(3).to(torch::kDouble);
  REQUIRE(vectors.sizes() == at::IntArrayRef{3, 300});
  const std::vector<double> want{40, 39, 20};
  for (int i = 0; i < 3; ++i) {
    const double value = found.eigenvalues[i], own = found.residuals[i];
    CHECK(own <= options.tolerance * 40);
    CHECK(std::abs(value - want[static_cast<std::size_t>(i)]) <= own);
    const auto v = vectors[i];
    const double residual = (matrix.mv(v) - value * v).norm().item<double>();
    // The stated residual is that of the vector that is handed out, up to a product in float32.
    CHECK(std::abs(residual - own) <= 40 * 2 * op.product_noise());
  }
  // Rounding of a basis to 16 bits is far above a product's.
  CHECK((vectors.mm(vectors.t()) - torch::eye(3, torch::kDouble)).abs().max().item<double>() <
        6 * tensor::kPackedError);
}

TEST_CASE("what is found on the device is what the host's double basis finds") {
  const auto matrix = with_spectrum(decaying(120, {10, 9.9, 9.9, -20}));
  const Dense op(matrix);
  linalg::LanczosOptions options;
  options.top = 3;
  options.which = linalg::SpectrumEnd::kBoth;
  options.find_repeated = true;
  options.tolerance = 1e-8;
  const auto host = linalg::lanczos(linalg::dense_operator(tensor::to_matrix(matrix)), options);
  const auto here = curvature::eigenpairs(op, options).found;
  REQUIRE(here.status == host.status);
  CHECK((here.eigenvalues - host.eigenvalues).cwiseAbs().maxCoeff() < 20 * 2e-8);
  CHECK(here.products == host.products);

  linalg::DensityOptions density;
  density.steps = 30;
  const auto seen = curvature::spectral_density(op, density);
  const auto want =
      linalg::spectral_density(linalg::dense_operator(tensor::to_matrix(matrix)), density);
  CHECK(std::abs(seen.trace - want.trace) < 1e-9 * (1 + std::abs(want.trace)));
  CHECK((seen.density - want.density).cwiseAbs().maxCoeff() < 1e-6 * want.density.maxCoeff());

  // Of pairs that are known the part is exact: the error is that of the rest.
  options.vectors = true;
  const auto pairs = curvature::eigenpairs(op, options);
  const auto exact = curvature::spectral_density(op, density, pairs);
  const auto exact_host = linalg::spectral_density(
      linalg::dense_operator(tensor::to_matrix(matrix)),
      density,
      linalg::lanczos(linalg::dense_operator(tensor::to_matrix(matrix)), options));
  CHECK(exact.known >= 4);
  CHECK(exact.known == exact_host.known);
  CHECK(exact.products == seen.products);
  // The error of a start is that of the eigenvalues that are left, by their squares.
  const auto squares = std::get<0>(torch::linalg_eigvalsh(matrix).square().sort());
  const auto left = squares.narrow(0, 0, squares.size(0) - exact.known).sum() / squares.sum();
  CHECK(exact.trace_stderr < 1.5 * seen.trace_stderr * std::sqrt(left.item<double>()));
  CHECK(std::abs(exact.trace - exact_host.trace) < 1e-6 * (1 + std::abs(exact_host.trace)));
  auto without = pairs;
  without.vectors.reset();
  CHECK_THROWS_AS(curvature::spectral_density(op, density, without), Error);
}

TEST_CASE("residuals of float32 products are those of float64 ones, to a factor of two") {
  auto low = trained();
  auto high = low;
  high.model = std::dynamic_pointer_cast<testing::GatedStackImpl>(low.model->clone());
  high.model->to(torch::kDouble);
  high.x = low.x.to(torch::kDouble);
  const auto op =
      curvature::hessian([&] { return low.loss(); }, curvature::select_parameters(*low.model));
  const auto exact =
      curvature::hessian([&] { return high.loss(); }, curvature::select_parameters(*high.model));
  REQUIRE(op->size() > 100'000);
  for (const double tolerance : {1e-2, 1e-3, 1e-4}) {
    linalg::LanczosOptions options;
    options.top = 2;
    options.tolerance = tolerance;
    options.vectors = true;
    const auto pairs = curvature::eigenpairs(*op, options);
    REQUIRE(pairs.found.status == linalg::KrylovStatus::kConverged);
    for (int i = 0; i < 2; ++i) {
      CAPTURE(tolerance, i);
      const auto v = pairs.vectors[i].to(torch::kDouble);
      const double value = pairs.found.eigenvalues[i];
      const double truth = (exact->apply(v) - value * v).norm().item<double>();
      CHECK(pairs.found.residuals[i] <= 2 * truth);
      CHECK(truth <= 2 * pairs.found.residuals[i]);
    }
  }
}

TEST_CASE("a value lies within its bound also where the residual is below the noise of a product") {
  const auto low = with_spectrum(decaying(200, {40, 39, 38})).to(torch::kFloat);
  const Eigen::MatrixXd exact = tensor::to_matrix(low);
  const Eigen::VectorXd values =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>((exact + exact.transpose()) / 2).eigenvalues();
  const Dense op(low);
  linalg::LanczosOptions options;
  options.tolerance = 1e-7;
  options.top = 3;
  const auto found = curvature::eigenpairs(op, options).found;
  const Eigen::VectorXd bounds = found.bounds();
  for (int i = 0; i < 3; ++i) {
    CHECK(bounds[i] > found.residuals[i]);
    CHECK((values.array() - found.eigenvalues[i]).abs().minCoeff() <= bounds[i]);
  }
  CHECK(linalg::ExtremeEigenvalues{}.bounds().size() == 0);
}

TEST_CASE("the curvature along a direction is its Rayleigh quotient, whatever its length") {
  torch::manual_seed(8);
  const auto matrix = with_spectrum(decaying(30, {5, -4}));
  const auto v = torch::randn({30}, torch::kDouble);
  const double exact = (v.dot(matrix.mv(v)) / v.dot(v)).item<double>();
  const Dense op(matrix), single(matrix.to(torch::kFloat));
  CHECK(curvature::curvature_along(op, v) == Approx(exact).epsilon(1e-12));
  CHECK(curvature::curvature_along(op, 1e-200 * v) == Approx(exact).epsilon(1e-12));
  CHECK(std::abs(curvature::curvature_along(single, v) - exact) <= 30 * 6e-8 * 5);
  CHECK(std::isnan(curvature::curvature_along(op, torch::zeros({30}))));
  CHECK_THROWS_WITH(curvature::curvature_along(op, torch::ones({3})),
                    Catch::Contains("30 parameters"));
}

TEST_CASE("a start that is close saves products, and an invalid one is refused") {
  const Dense op(with_spectrum(decaying(400, {40, 39, 38})).to(torch::kFloat));
  linalg::LanczosOptions options;
  options.top = 3;
  options.vectors = true;
  const auto cold = curvature::eigenpairs(op, options);
  const auto warm = curvature::eigenpairs(op, options, cold.vectors.sum(0));
  CHECK(warm.found.products < cold.found.products);
  // One beyond the wanted ones: three Ritz values would be the three largest, whatever they are.
  CHECK(curvature::eigenpairs(op, options, cold.vectors).found.products == 4);
  CHECK_THROWS_WITH(curvature::eigenpairs(op, options, torch::ones({3})),
                    Catch::Contains("do not fit"));
  CHECK_THROWS_WITH(curvature::eigenpairs(
                        op, options, torch::full({400}, std::numeric_limits<double>::quiet_NaN())),
                    Catch::Contains("NaN"));
}

TEST_CASE("an operator that is not finite gives a status and no numbers; random state is kept") {
  torch::manual_seed(9);
  const auto want = torch::rand({4});
  torch::manual_seed(9);
  const Dense op(torch::full({5, 5}, std::numeric_limits<float>::infinity()));
  linalg::LanczosOptions options;
  options.vectors = true;
  const auto pairs = curvature::eigenpairs(op, options);
  CHECK(pairs.found.status == linalg::KrylovStatus::kNonFinite);
  CHECK(pairs.found.eigenvalues.size() == 0);
  CHECK_FALSE(pairs.vectors.defined());
  CHECK(torch::equal(torch::rand({4}), want));
}

TEST_CASE("the vectors of a density are semi-orthogonal, or two beside the work vector") {
  auto network = trained();
  const auto op = curvature::hessian([&] { return network.loss(); },
                                     curvature::select_parameters(*network.model));
  const double noise = op->product_noise();
  Counting kept(*op), bounded(*op);
  const auto with = linalg::quadrature_in(kept, noise, 40, true, 1);
  const auto without = linalg::quadrature_in(bounded, noise, 40, false, 1);
  CHECK(kept.count() == 40);
  CHECK(bounded.count() == 2);
  const auto v = kept.take(40).to(torch::kDouble);
  CHECK((v.mm(v.t()) - torch::eye(40, torch::kDouble)).abs().max().item<double>() <=
        std::sqrt(noise));
  CHECK(with.inner_products < 40 * 40 / 2);
  const double largest = with.nodes.cwiseAbs().maxCoeff();
  CHECK(std::abs(with.nodes.maxCoeff() - without.nodes.maxCoeff()) <= 40 * noise * largest);
  CHECK(std::abs(with.weights.dot(with.nodes) - without.weights.dot(without.nodes)) <=
        noise * largest);
}

TEST_CASE("a density over batches is that of the operators one after the other") {
  const auto matrix = with_spectrum(decaying(60, {8, -3}));
  linalg::DensityOptions options;
  options.starts = 2;
  const auto batch = [&](int b) -> std::unique_ptr<curvature::CurvatureOperator> {
    return std::make_unique<Dense>(matrix * (1 + b));
  };
  const auto seen = curvature::spectral_density(batch, 3, options);
  std::vector<linalg::SymmetricOperator> hosts;
  for (int b = 0; b < 3; ++b)
    hosts.push_back(linalg::dense_operator(tensor::to_matrix(matrix * (1 + b))));
  const auto want = linalg::spectral_density(hosts, options);
  CHECK(seen.batches == 3);
  CHECK(std::abs(seen.trace - want.trace) < 1e-9 * (1 + std::abs(want.trace)));
  CHECK(std::abs(seen.trace_stderr - want.trace_stderr) < 1e-9 * want.trace_stderr);
  CHECK_THROWS_WITH(curvature::spectral_density(batch, 0, options), Catch::Contains("one batch"));
}
