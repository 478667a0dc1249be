// SPDX-License-Identifier: Apache-2.0
// The body of lanczos_in; include lanczos.h.
#pragma once

#include <algorithm>
#include <cmath>
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

/// Whether a challenge may end: at every asked end the first Ritz pair behind the wanted ones has
/// converged, or cannot reach in among them. `ritz` ascending; `residuals` of all pairs.
inline bool separated(const SymmetricEigen& ritz,
                      const Eigen::VectorXd& residuals,
                      Eigen::Index bottom,
                      Eigen::Index top,
                      double goal) {
  const Eigen::Index m = ritz.values.size();
  if (bottom + top >= m) return true;
  const Eigen::Index above = m - top - 1;
  const bool high = top == 0 || residuals(above) <= goal ||
                    ritz.values(above) + residuals(above) < ritz.values(above + 1);
  const bool low = bottom == 0 || residuals(bottom) <= goal ||
                   ritz.values(bottom) - residuals(bottom) > ritz.values(bottom - 1);
  return high && low;
}

}  // namespace detail

template <KrylovBasis Basis>
LanczosResult lanczos_in(Basis& basis,
                         double product_noise,
                         const LanczosOptions& options,
                         Eigen::Index starts,
                         const std::function<void(Eigen::Index)>& load) {
  // A missed copy has a share of 1/sqrt(n) in a random vector, which each step multiplies by the
  // growth of a Chebyshev polynomial. A dozen steps bring it to light; then it keeps the challenge
  // alive until it is separated from them or one of them.
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
  // What the noise of the products leaves of the tolerance for the residual in the projection.
  const double spare =
      std::max(0.0, options.tolerance * options.tolerance - product_noise * product_noise);
  const double goal = std::max(std::sqrt(spare), product_noise / 2);
  const double same = std::max(options.tolerance, 10 * product_noise);

  KrylovSpace<Basis> space(basis, product_noise, options.seed);
  for (Eigen::Index i = 0; i < starts && space.pending() < n; ++i) {
    load(i);
    space.start_from_work();
  }
  if (space.pending() == 0) space.inject();

  LanczosResult result;
  SymmetricEigen ritz;
  std::vector<Eigen::Index> wanted;
  Eigen::VectorXd challenged;  // the wanted values before the last challenge
  int challenges = 0;
  int challenge_ends = 0;                      // not before this many products
  Eigen::Index waiting = space.pending() - 1;  // start vectors that have not had their product
  Eigen::Index next = 0;
  double scale = 0;
  Eigen::VectorXd residuals;  // of all Ritz pairs, ascending
  const auto look = [&] {
    ritz = space.ritz();
    wanted = detail::wanted_ends(space.expanded(), bottom, top);
    scale = ritz.values.cwiseAbs().maxCoeff();
    residuals = (space.coupling() * ritz.vectors).colwise().norm();
  };
  while (space.products() < options.max_products) {
    space.expand(next);
    if (!space.finite()) {
      return {.status = KrylovStatus::kNonFinite, .products = space.products()};
    }
    if (space.invariant()) space.inject();
    next = waiting > 0 ? 0 : std::max<Eigen::Index>(0, space.pending() - 1);
    waiting = std::max<Eigen::Index>(0, waiting - 1);
    const Eigen::Index m = space.expanded();
    const bool full = m >= max_basis;
    // Looking costs m³; a step more or less matters little once m is large.
    if (m < enough || (m % (1 + m / 24) != 0 && !full && !space.complete())) continue;
    look();
    const Eigen::VectorXd missing = residuals(wanted);
    if (options.progress) {
      options.progress({.products = space.products(),
                        .converged = static_cast<int>((missing.array() <= goal * scale).count()),
                        .wanted = static_cast<int>(enough),
                        .residual = missing.maxCoeff() / scale});
    }
    const bool growing = space.products() < challenge_ends;
    // Where the columns are most of the space, a challenger has little of its own to grow from, or
    // none is left: the last products settle it.
    const Eigen::Index columns = m + space.pending();
    const bool to_the_end =
        options.find_repeated && (columns == n || (n <= max_basis && 2 * columns > n));
    bool challenge = false;
    if (space.complete()) {
      result.status = KrylovStatus::kConverged;
      break;
    }
    if (missing.maxCoeff() <= goal * scale && !growing && !to_the_end) {
      const Eigen::VectorXd values = ritz.values(wanted);
      const bool unchanged =
          challenged.size() > 0 && (values - challenged).cwiseAbs().maxCoeff() <= same * scale;
      if (!options.find_repeated ||
          (unchanged && detail::separated(ritz, residuals, bottom, top, goal * scale))) {
        result.status = KrylovStatus::kConverged;
        break;
      }
      // What is given up at a second challenge must not add up to the tolerance.
      challenge = !unchanged && (challenges == 0 || missing.maxCoeff() <= 0.1 * goal * scale);
      if (challenge) challenged = values;
    }
    // The pending column that the wanted pairs miss most; a challenger is left to grow first.
    if (!growing && !challenge && waiting == 0 && next > 0) {
      const Eigen::MatrixXd parts = space.coupling() * ritz.vectors(Eigen::all, wanted);
      parts.rowwise().squaredNorm().maxCoeff(&next);
    }
    if (full && !to_the_end && !(challenge && challenges > 0)) {
      // Half of the room stays with the ends of the spectrum, shared as the wanted pairs are.
      const Eigen::Index keep = std::max(enough, max_basis / 2);
      const Eigen::Index keep_top = keep * top / (top + bottom);
      const auto kept = detail::wanted_ends(m, keep - keep_top, keep_top);
      space.restart(ritz.values(kept), ritz.vectors(Eigen::all, kept));
    }
    if (challenge) {
      // A missed vector may lie in a challenger's own pending column, where no later one,
      // orthogonal to it, would see it: from the second on, all but the pairs themselves is given
      // up.
      if (challenges++ > 0) {
        space.restart(ritz.values(wanted), ritz.vectors(Eigen::all, wanted));
        space.drop_pending();
      }
      challenge_ends = space.products() + kChallengeSteps;
      space.inject();
      next = space.pending() - 1;
    }
  }

  if (result.status != KrylovStatus::kConverged) look();
  std::reverse(wanted.begin(), wanted.end());
  const bool measure = options.measure_residuals || !space.knows_residuals() ||
                       options.tolerance < 30 * product_noise;
  if (options.vectors || measure) basis.rotate(ritz.vectors(Eigen::all, wanted));
  result.eigenvalues = ritz.values(wanted);
  result.residuals = residuals(wanted);
  result.products = space.products();
  for (Eigen::Index i = 0; measure && i < result.eigenvalues.size(); ++i) {
    basis.multiply(i);
    ++result.products;
    result.eigenvalues(i) = basis.dot(i);
    basis.axpy(-result.eigenvalues(i), i);
    result.residuals(i) = basis.norm();
  }
  if (!result.residuals.allFinite()) {
    return {.status = KrylovStatus::kNonFinite, .products = result.products};
  }
  // Rounding of the projection itself, where products are exact.
  const double noise = std::max(product_noise, 1e-13) * scale;
  const bool contradicts =
      space.asymmetry() > 10 * noise ||
      (measure && result.residuals.maxCoeff() > 1.1 * options.tolerance * scale + 10 * noise);
  if (result.status == KrylovStatus::kConverged && contradicts)
    result.status = KrylovStatus::kInconsistent;
  return result;
}

}  // namespace kappascope::linalg
