// SPDX-License-Identifier: Apache-2.0
#include "linalg/krylov.h"

#include <limits>

#include "kappascope/linalg/lanczos.h"
#include "linalg/host_basis.h"
#include "support/catch.h"
#include "support/matrices.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

namespace {

/// ‖A V - V H - P C‖ + ‖[V P]ᵀ[V P] - I‖: what a KrylovSpace promises.
template <typename Space>
double broken_promises(const Eigen::MatrixXd& a, const HostBasis& basis, const Space& space) {
  const Eigen::Index m = space.expanded();
  const Eigen::Index count = m + space.block();
  const Eigen::MatrixXd all = basis.columns(count);
  const Eigen::MatrixXd v = all.leftCols(m);
  const Eigen::MatrixXd p = all.rightCols(space.block());
  return (a * v - v * space.projection() - p * space.coupling()).norm() +
         (all.transpose() * all - Eigen::MatrixXd::Identity(count, count)).norm();
}

}  // namespace

TEST_CASE("A V = V H + P C holds through products, random and thick restarts") {
  const Eigen::MatrixXd a = with_spectrum(geometric_spectrum(60, 100), 1);
  const SymmetricOperator op = dense_operator(a);
  HostBasis basis(op);
  KrylovSpace<HostBasis> space(basis, op.product_noise, 5);
  space.random_restart();
  for (int i = 0; i < 12; ++i) space.expand(0);
  CHECK(broken_promises(a, basis, space) < 1e-11);
  space.random_restart();
  CHECK(space.block() == 2);
  for (Eigen::Index which : {1, 1, 0, 1, 0, 0}) space.expand(which);
  CHECK(broken_promises(a, basis, space) < 1e-11);
  const Eigen::Index m = space.expanded();
  space.restart(space.ritz(), {m - 7, m - 6, m - 5, m - 4, m - 3, m - 2, m - 1});
  CHECK(space.expanded() == 7);
  CHECK(broken_promises(a, basis, space) < 1e-11);
  for (int i = 0; i < 9; ++i) space.expand(0);
  CHECK(broken_promises(a, basis, space) < 1e-11);
  CHECK(space.products() == 27);
}

TEST_CASE("an invariant space has an empty residual block, and a full one takes nothing more") {
  const SymmetricOperator op = dense_operator(Eigen::MatrixXd::Identity(3, 3));
  HostBasis basis(op);
  KrylovSpace<HostBasis> space(basis, op.product_noise, 5);
  basis.load(Eigen::Vector3d(0, 0, 2));
  space.start_from_work();
  space.expand(0);
  CHECK(space.invariant());
  basis.load(Eigen::Vector3d(0, 0, 1));
  space.start_from_work();  // in the space already: a random one instead
  CHECK(space.block() == 1);
  space.expand(0);
  space.random_restart();
  space.expand(0);
  CHECK(space.complete());
  space.random_restart();
  CHECK(space.block() == 0);
}

TEST_CASE("a start or a product that is not finite is told, and the space stays as it was") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Eigen::MatrixXd a = Eigen::Vector3d(1, 2, 3).asDiagonal();
  const SymmetricOperator op = dense_operator(a);
  HostBasis basis(op);
  KrylovSpace<HostBasis> by_start(basis, op.product_noise, 5);
  basis.load(Eigen::Vector3d(0, nan, 1));
  by_start.start_from_work();
  CHECK_FALSE(by_start.finite());

  const SymmetricOperator broken{.size = 3,
                                 .apply = [&](const Eigen::VectorXd&, Eigen::VectorXd& y) {
                                   y = Eigen::Vector3d::Constant(nan);
                                 }};
  HostBasis own(broken);
  KrylovSpace<HostBasis> by_product(own, 0, 5);
  by_product.random_restart();
  by_product.expand(0);
  CHECK_FALSE(by_product.finite());
  CHECK(by_product.expanded() == 0);
  CHECK(by_product.block() == 1);
}
