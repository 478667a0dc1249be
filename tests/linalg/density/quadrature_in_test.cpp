// SPDX-License-Identifier: Apache-2.0
#include "linalg/quadrature_in.h"

#include <algorithm>
#include <cmath>

#include "kappascope/linalg/density.h"
#include "kappascope/linalg/lanczos.h"
#include "linalg/host_basis.h"
#include "support/catch.h"
#include "support/matrices.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

namespace {

/// Columns in float32, products with the noise of float32, sums in double; and the largest number
/// of vectors that were ever there, the work vector among them.
class FloatBasis {
 public:
  explicit FloatBasis(const Eigen::MatrixXd& matrix) : matrix_(matrix.cast<float>()) {}
  [[nodiscard]] Eigen::Index size() const { return matrix_.rows(); }
  void random(std::uint64_t seed) { work_ = Random(seed).normal_vector(size()); }
  void multiply(Eigen::Index i) { work_ = (matrix_ * columns_.col(i)).cast<double>(); }
  [[nodiscard]] Eigen::VectorXd project(Eigen::Index count) const {
    return columns_.leftCols(count).cast<double>().transpose() * work_;
  }
  double subtract(const Eigen::VectorXd& c) {
    work_ -= columns_.leftCols(c.size()).cast<double>() * c;
    return work_.norm();
  }
  [[nodiscard]] Eigen::VectorXd subtract_project(const Eigen::VectorXd& c) {
    subtract(c);
    return project(c.size());
  }
  [[nodiscard]] double dot(Eigen::Index i) const {
    return columns_.col(i).cast<double>().dot(work_);
  }
  [[nodiscard]] double norm() const { return work_.norm(); }
  void axpy(double factor, Eigen::Index i) { work_ += factor * columns_.col(i).cast<double>(); }
  void store(Eigen::Index i, double factor) {
    if (i >= columns_.cols()) columns_.conservativeResize(size(), i + 1);
    columns_.col(i) = (factor * work_).cast<float>();
  }
  void rotate(const Eigen::MatrixXd& y) {
    columns_.leftCols(y.cols()) = (columns_.leftCols(y.rows()) * y.cast<float>()).eval();
  }
  void swap(Eigen::Index i, Eigen::Index j) { columns_.col(i).swap(columns_.col(j)); }
  [[nodiscard]] Eigen::Index vectors() const { return columns_.cols() + 1; }
  [[nodiscard]] Eigen::MatrixXd columns() const { return columns_.cast<double>(); }

 private:
  Eigen::MatrixXf matrix_, columns_;
  Eigen::VectorXd work_;
};
static_assert(KrylovBasis<FloatBasis>);

/// Outliers over a bulk: Ritz values converge early, which is when orthogonality goes.
Eigen::VectorXd hessian_like(Eigen::Index n) {
  Eigen::VectorXd values = Eigen::VectorXd::LinSpaced(n, -0.5, 1);
  values.tail(6) << 33, 21, 12, 11, 9, 7;
  return values;
}

/// Σ w (node - x)₊ at points, which says where mass lies and forgives a node that moves a little.
Eigen::VectorXd ramps(const Quadrature& quadrature, const Eigen::VectorXd& points) {
  return points.unaryExpr([&](double x) {
    return quadrature.weights.dot((quadrature.nodes.array() - x).max(0).matrix());
  });
}

double largest_overlap(const Eigen::MatrixXd& columns) {
  const Eigen::MatrixXd gram = columns.transpose() * columns;
  return (gram - Eigen::MatrixXd::Identity(gram.rows(), gram.cols())).cwiseAbs().maxCoeff();
}

constexpr double kFloatNoise = 1e-6;
constexpr int kSteps = 100;

}  // namespace

TEST_CASE("vectors stay semi-orthogonal, and few inner products are taken for it") {
  const Eigen::MatrixXd matrix = with_spectrum(hessian_like(500), 1);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    FloatBasis low(matrix);
    const Quadrature coarse = quadrature_in(low, kFloatNoise, kSteps, true, seed);
    CHECK(largest_overlap(low.columns()) <= std::sqrt(kFloatNoise));
    CHECK(coarse.inner_products > 0);
    CHECK(coarse.inner_products <= 2500);
    const SymmetricOperator op = dense_operator(matrix);
    HostBasis high(op);
    const Quadrature fine = quadrature_in(high, op.product_noise, kSteps, true, seed);
    CHECK(largest_overlap(high.columns(kSteps)) <= std::sqrt(op.product_noise));
    CHECK(fine.inner_products > 0);
    CHECK(fine.inner_products <= 2500);
  }
}

TEST_CASE("the quadrature is that of full reorthogonalisation to the noise") {
  const Eigen::MatrixXd matrix = with_spectrum(hessian_like(500), 2);
  const SymmetricOperator op = dense_operator(matrix);
  const double scale = 33;
  const Eigen::VectorXd points = Eigen::VectorXd::LinSpaced(200, -1, 34);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    HostBasis reference(op);
    Quadrature full;
    {
      // The same start and full reorthogonalisation.
      KrylovSpace<HostBasis> space(reference, op.product_noise, 0);
      reference.random(seed);
      space.start_from_work();
      while (space.expanded() < kSteps) space.expand(0);
      const SymmetricEigen ritz = space.ritz().eigen;
      full.nodes = ritz.values;
      full.weights = ritz.vectors.row(0).transpose().cwiseAbs2();
    }
    HostBasis high(op);
    const Quadrature fine = quadrature_in(high, op.product_noise, kSteps, true, seed);
    REQUIRE(fine.nodes.size() == kSteps);
    // T is the projection of A to the noise times its order (Simon 1984): what follows from it
    // moves by as much.
    const double close = kSteps * op.product_noise * scale;
    CHECK((fine.nodes - full.nodes).cwiseAbs().maxCoeff() <= close);
    CHECK((ramps(fine, points) - ramps(full, points)).cwiseAbs().maxCoeff() <= close);
    FloatBasis low(matrix);
    const Quadrature coarse = quadrature_in(low, kFloatNoise, kSteps, true, seed);
    CHECK((ramps(coarse, points) - ramps(full, points)).cwiseAbs().maxCoeff() <=
          kSteps * kFloatNoise * scale);
  }
}

TEST_CASE("a residual bounds the distance of its node to an eigenvalue") {
  const Eigen::VectorXd spectrum = hessian_like(300);
  const SymmetricOperator op = dense_operator(with_spectrum(spectrum, 3));
  HostBasis basis(op);
  const Quadrature quadrature = quadrature_in(basis, op.product_noise, 40, true, 7);
  for (Eigen::Index i = 0; i < 40; ++i)
    CHECK((spectrum.array() - quadrature.nodes(i)).abs().minCoeff() <=
          quadrature.residuals(i) + 1e-12);
  CHECK(quadrature.residuals.tail(4).maxCoeff() < 1e-6);
  CHECK(quadrature.residuals.maxCoeff() > 1e-3);
}

TEST_CASE("a basis that does not fit is not kept: three vectors, the same integrals") {
  const Eigen::MatrixXd matrix = with_spectrum(hessian_like(500), 4);
  const Eigen::VectorXd points = Eigen::VectorXd::LinSpaced(200, -1, 34);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    FloatBasis kept(matrix), bounded(matrix);
    const Quadrature with = quadrature_in(kept, kFloatNoise, kSteps, true, seed);
    const Quadrature without = quadrature_in(bounded, kFloatNoise, kSteps, false, seed);
    CHECK(kept.vectors() == kSteps + 1);
    CHECK(bounded.vectors() == 3);
    CHECK(without.inner_products == 0);
    // An eigenvalue that came several times: the ghosts that the result warns of.
    const auto near_top = [](const Quadrature& q) { return (q.nodes.array() > 32.9).count(); };
    CHECK(near_top(with) == 1);
    CHECK(near_top(without) > 1);
    // Fewer nodes are left for the bulk, whose range is 1.5.
    const double coarser = 0.02;
    CHECK((ramps(with, points) - ramps(without, points)).cwiseAbs().maxCoeff() <= coarser);
    const auto top = [](const Quadrature& q) {
      return (q.nodes.array() > 32.9).select(q.weights.array(), 0).sum();
    };
    CHECK(top(without) == Approx(top(with)).epsilon(1e-3));
  }
}

TEST_CASE("an invariant space ends the quadrature, which is exact") {
  Eigen::VectorXd three = Eigen::VectorXd::Zero(90);
  three.head(30).setConstant(5);
  three.segment(30, 30).setConstant(-2);
  const SymmetricOperator op = dense_operator(with_spectrum(three, 5));
  for (const bool keep : {true, false}) {
    HostBasis basis(op);
    const Quadrature quadrature = quadrature_in(basis, op.product_noise, 50, keep, 1);
    CHECK(quadrature.products == 3);
    CHECK((quadrature.nodes - Eigen::Vector3d(-2, 0, 5)).norm() < 1e-12);
    CHECK(quadrature.residuals.maxCoeff() < 1e-12);
  }
}
