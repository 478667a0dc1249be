// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "kappascope/linalg/density.h"
#include "kappascope/linalg/random.h"
#include "linalg/quadrature_in.h"

namespace kappascope::linalg {

/// Whether the basis of an operator of order n is kept beside `known` vectors.
Reorthogonalisation reorthogonalisation(Eigen::Index n,
                                        const DensityOptions& options,
                                        Eigen::Index known = 0);

/// Eigenvalues whose part of a density is exact: those of directions that its starts leave out.
struct KnownEigenvalues {
  std::vector<Eigen::Index> pairs = {};  ///< which of those that were found
  Eigen::VectorXd values = {}, bounds = {};
  [[nodiscard]] Eigen::Index count() const { return values.size(); }
};
/// Those known to a hundredth of their magnitude, at most n - 1 of them. At the edge of a bulk a
/// pair that satisfies the tolerance of the largest may be known worse, and would blur what it is
/// near.
KnownEigenvalues known_eigenvalues(const ExtremeEigenvalues& found, Eigen::Index n);

/// The two halves of spectral_density: products, with the vectors anywhere; and all the rest.
/// Batches with other numbers have other starts. One that is not finite is the last. `load(i)`
/// makes w the eigenvector of pair i.
template <KrylovBasis Basis>
std::vector<Quadrature> quadratures_in(Basis& basis,
                                       double product_noise,
                                       const DensityOptions& options,
                                       int batch = 0,
                                       const KnownEigenvalues& known = {},
                                       const std::function<void(Eigen::Index)>& load = {}) {
  const bool keep =
      reorthogonalisation(basis.size(), options, known.count()) == Reorthogonalisation::kPartial;
  LeftOut left_out;
  for (const Eigen::Index i : known.pairs) {
    load(i);
    basis.store(left_out.count++, 1);
  }
  if (left_out.count > 0) left_out.magnitude = known.values.cwiseAbs().maxCoeff();
  std::vector<Quadrature> quadratures;
  Random seeds(options.seed);
  for (int skipped = 0; skipped < batch * options.starts; ++skipped) seeds.next();
  for (int p = 0; p < options.starts; ++p) {
    quadratures.push_back(
        quadrature_in(basis, product_noise, options.steps, keep, seeds.next(), left_out));
    if (!quadratures.back().finite) break;
  }
  return quadratures;
}
/// `quadratures`: `starts` of the first batch, then of the next; fewer where one is not finite.
Density density_from(const std::vector<Quadrature>& quadratures,
                     Eigen::Index n,
                     double product_noise,
                     const DensityOptions& options,
                     const KnownEigenvalues& known = {});

}  // namespace kappascope::linalg
