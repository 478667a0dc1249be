// SPDX-License-Identifier: Apache-2.0
// The body of lanczos_in; include lanczos.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kappascope/core/error.h"
#include "kappascope/linalg/lanczos.h"

namespace kappascope::linalg {
namespace detail {

/// Which of m ascending Ritz values are wanted: the first `bottom` and the last `top`, each once.
inline std::vector<Eigen::Index> wanted_ends(Eigen::Index m,
                                             Eigen::Index bottom,
                                             Eigen::Index top) {
  std::vector<Eigen::Index> wanted;
  for (Eigen::Index i = 0; i < m; ++i) {
    if (i < bottom || i >= m - top) wanted.push_back(i);
  }
  return wanted;
}

}  // namespace detail

template <KrylovBasis Basis>
LanczosResult lanczos_in(Basis& basis,
                         double product_noise,
                         const LanczosOptions& options,
                         bool start_loaded) {
  // A missed copy has a share of 1/sqrt(n) in a random vector, which each step multiplies by the
  // growth of a Chebyshev polynomial: a dozen steps bring it out of millions where the gap to what
  // is not yet found is a fifth of the range.
  constexpr int kChallengeSteps = 12;
  const Eigen::Index n = basis.size();
  require(n >= 1, "Lanczos needs an operator of order 1 at least, got ", n);
  require(options.top >= 1, "Lanczos needs one wanted pair at least, got ", options.top);
  require(options.max_products >= 1, "Lanczos needs one product at least");
  const Eigen::Index top = options.which == SpectrumEnd::kSmallest ? 0 : options.top;
  const Eigen::Index bottom = options.which == SpectrumEnd::kLargest ? 0 : options.top;
  const Eigen::Index enough = std::min(n, top + bottom);
  // Room for the pairs kept by a restart and for as many new directions again.
  const Eigen::Index max_basis =
      std::min<Eigen::Index>(n, std::max<Eigen::Index>(options.max_basis, 2 * enough + 16));
  const double tolerance = std::max(options.tolerance, 10 * product_noise);

  KrylovSpace<Basis> space(basis, product_noise, options.seed);
  if (start_loaded) {
    space.start_from_work();
  } else {
    space.inject();
  }

  LanczosResult result;
  SymmetricEigen ritz;
  std::vector<Eigen::Index> wanted;
  Eigen::VectorXd challenged;  // the wanted values before the last challenge
  int since_challenge = 0;
  Eigen::Index next = 0;
  while (space.products() < options.max_products) {
    space.expand(next);
    ++since_challenge;
    if (!space.finite()) {
      return {.status = KrylovStatus::kNonFinite, .products = space.products()};
    }
    if (space.invariant()) space.inject();
    next = std::max<Eigen::Index>(0, space.pending() - 1);
    const Eigen::Index m = space.expanded();
    const bool full = m >= max_basis;
    // Looking costs m³; a step more or less matters little once m is large.
    if (m < enough || (m % (1 + m / 24) != 0 && !full)) continue;
    ritz = space.ritz();
    wanted = detail::wanted_ends(m, bottom, top);
    const double scale = ritz.values.cwiseAbs().maxCoeff();
    const Eigen::MatrixXd residual = space.coupling() * ritz.vectors(Eigen::all, wanted);
    const bool converged = residual.colwise().norm().maxCoeff() <= tolerance * scale;
    if (space.complete()) {
      result.status = KrylovStatus::kConverged;
      break;
    }
    // Where the columns are most of the space, a challenger has little of its own to grow from, or
    // none is left: the last products settle it.
    const Eigen::Index columns = m + space.pending();
    const bool to_the_end =
        options.find_repeated && (columns == n || (n <= max_basis && 2 * columns > n));
    const bool settled = challenged.size() == 0 || since_challenge >= kChallengeSteps;
    bool challenge = false;
    if (converged && settled && !to_the_end) {
      const Eigen::VectorXd values = ritz.values(wanted);
      if (!options.find_repeated ||
          (challenged.size() > 0 &&
           (values - challenged).cwiseAbs().maxCoeff() <= tolerance * scale)) {
        result.status = KrylovStatus::kConverged;
        break;
      }
      challenged = values;
      since_challenge = 0;
      challenge = true;
    }
    // The pending column that the wanted pairs miss most; a challenger is left to grow first.
    if (settled) residual.rowwise().squaredNorm().maxCoeff(&next);
    if (full && !to_the_end) {
      // Half of the room stays with the ends of the spectrum, shared as the wanted pairs are.
      const Eigen::Index keep = std::max(enough, max_basis / 2);
      const Eigen::Index keep_top = keep * top / (top + bottom);
      const auto kept = detail::wanted_ends(m, keep - keep_top, keep_top);
      space.restart(ritz.values(kept), ritz.vectors(Eigen::all, kept));
    }
    if (challenge) {
      space.inject();
      next = space.pending() - 1;
    }
  }

  if (result.status != KrylovStatus::kConverged) {
    ritz = space.ritz();
    wanted = detail::wanted_ends(space.expanded(), bottom, top);
  }
  std::reverse(wanted.begin(), wanted.end());
  basis.rotate(ritz.vectors(Eigen::all, wanted));
  const auto count = static_cast<Eigen::Index>(wanted.size());
  const double scale = ritz.values.cwiseAbs().maxCoeff();
  result.eigenvalues.resize(count);
  result.residuals.resize(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    basis.multiply(i);
    result.eigenvalues(i) = basis.dot(i);
    basis.axpy(-result.eigenvalues(i), i);
    result.residuals(i) = basis.norm();
  }
  result.products = space.products() + static_cast<int>(count);
  if (!result.residuals.allFinite()) {
    return {.status = KrylovStatus::kNonFinite, .products = result.products};
  }
  if (result.status == KrylovStatus::kConverged &&
      !(result.residuals.maxCoeff() <= 1.1 * tolerance * scale)) {
    result.status = KrylovStatus::kInconsistent;
  }
  return result;
}

}  // namespace kappascope::linalg
