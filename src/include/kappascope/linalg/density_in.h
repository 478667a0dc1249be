// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <vector>

#include "kappascope/linalg/density.h"
#include "kappascope/linalg/quadrature_in.h"
#include "kappascope/linalg/random.h"

namespace kappascope::linalg {

/// Whether the basis of an operator of order n is kept.
Reorthogonalisation reorthogonalisation(Eigen::Index n, const DensityOptions& options);

/// The two halves of spectral_density: products, with the vectors anywhere; and all the rest.
/// Batches with other numbers have other starts. One that is not finite is the last.
template <KrylovBasis Basis>
std::vector<Quadrature> quadratures_in(Basis& basis,
                                       double product_noise,
                                       const DensityOptions& options,
                                       int batch = 0) {
  const bool keep = reorthogonalisation(basis.size(), options) == Reorthogonalisation::kPartial;
  std::vector<Quadrature> quadratures;
  Random seeds(options.seed);
  for (int skipped = 0; skipped < batch * options.starts; ++skipped) seeds.next();
  for (int p = 0; p < options.starts; ++p) {
    quadratures.push_back(quadrature_in(basis, product_noise, options.steps, keep, seeds.next()));
    if (!quadratures.back().finite) break;
  }
  return quadratures;
}
/// `quadratures`: `starts` of the first batch, then of the next; fewer where one is not finite.
Density density_from(const std::vector<Quadrature>& quadratures,
                     Eigen::Index n,
                     double product_noise,
                     const DensityOptions& options);

}  // namespace kappascope::linalg
