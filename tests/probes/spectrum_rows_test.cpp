// SPDX-License-Identifier: Apache-2.0
#include "probes/spectrum_rows.h"

#include <limits>

#include "support/catch.h"

using namespace kappascope;
using linalg::KrylovStatus;
using store::Status;

TEST_CASE("an eigenvalue may be converged, and of its rank, where others are not") {
  const double inf = std::numeric_limits<double>::infinity();
  linalg::ExtremeEigenvalues found;
  found.status = KrylovStatus::kMaxProducts;
  found.which = linalg::SpectrumEnd::kLargest;
  found.eigenvalues = Eigen::Vector3d(4, 3, 2);
  found.residuals = Eigen::Vector3d(1e-4, 1e-4, 0.5);
  found.tolerances = Eigen::Vector3d::Constant(4e-3);
  found.reach = Eigen::Vector3d(0.01, 0.01, 0.01);
  CHECK(probes::status_of(found, 0) == Status::kConverged);  // its reach is in its interval
  CHECK(probes::status_of(found, 1) == Status::kUncertified);
  CHECK(probes::status_of(found, 2) == Status::kMaxProducts);
  found.reach(0) = inf;
  CHECK(probes::status_of(found, 0) == Status::kUncertified);
  found.status = KrylovStatus::kConverged;
  found.reach(1) = 1e-3;
  CHECK(probes::status_of(found, 1) == Status::kConverged);
  for (const auto status : {KrylovStatus::kNonFinite, KrylovStatus::kInconsistent}) {
    found.status = status;
    CHECK_FALSE(is_resolved(probes::status_of(found, 1)));
  }

  found.status = KrylovStatus::kMaxProducts;
  found.reach(0) = 0.01;
  store::Snapshot out;
  probes::add_spectrum(out, found, 3);
  REQUIRE(out.scalars.size() == 6);
  CHECK(is_resolved(out.scalars[0]));
  CHECK(*out.scalars[0].upper == 4.01);
  CHECK_FALSE(is_resolved(out.scalars[2]));
  CHECK_FALSE(out.scalars[2].upper);  // where the third eigenvalue lies is not known
  found.residuals(0) = 0.5;
  store::Snapshot early;
  probes::add_preconditioned(early, found);
  CHECK_FALSE(is_resolved(early.scalars[0]));
  CHECK(*early.scalars[0].lower == 3.5);
}
