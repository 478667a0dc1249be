// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <utility>
#include <vector>

#include "kappascope/linalg/lanczos.h"

namespace kappascope::linalg {

struct DensityOptions {
  int steps = 60;           ///< Lanczos steps a probe; the order of the operator bounds them
  int probes = 4;           ///< random starts; the band comes from their spread, so two at least
  int points = 512;         ///< of the grid
  double bandwidth = 0.01;  ///< standard deviation of the smoothing, as a share of the range
  std::uint64_t seed = 0;
};

/// Spectral density (1/n) Σ δ(x - λ_i), smoothed by a Gaussian, by stochastic Lanczos quadrature
/// (Ubaru, Chen and Saad 2017): a random unit vector v sees the density with weights (vᵢ·v)², whose
/// mean is 1/n, and m Lanczos steps from v integrate polynomials of degree 2m - 1 exactly. Full
/// reorthogonalisation, so that Ritz values do not repeat. Eigenvalues of multiplicity count with
/// it.
struct Density {
  /// kNonFinite: the operator returned NaN or infinity and everything below is empty or NaN;
  /// otherwise kConverged (a density has no residual: its error is the band).
  KrylovStatus status = KrylovStatus::kConverged;
  /// [points]; the band is 95 % pointwise over probes: mean ± t(probes-1) · standard error, cut at
  /// 0. With one probe it is NaN: unknown is not zero.
  Eigen::VectorXd grid, density, lower, upper;
  Eigen::VectorXd nodes, weights;  ///< all probes' Ritz values; the weights sum to 1
  double negative_mass = 0;        ///< share of the spectrum below -(noise · largest magnitude)
  double near_zero_mass = 0;       ///< share within 1e-3 of the largest magnitude
  /// Of the operator: n times the mean of the density. The first moment of a quadrature is exact,
  /// so this is Hutchinson's estimate over the same probes; its standard error is theirs (NaN for
  /// one).
  double trace = 0, trace_stderr = 0;
  double trace_lower = 0, trace_upper = 0;  ///< 95 %, Student's t over the probes; NaN for one
  int products = 0;
};

/// One probe's quadrature of the density: nodes and weights that sum to 1.
struct Quadrature {
  Eigen::VectorXd nodes, weights;
  int products = 0;
  bool finite = true;  ///< false: the operator returned NaN or infinity, there are no nodes
};

/// Cost: at most probes · steps products and steps · n doubles of memory.
/// Throws when an option is not positive.
Density spectral_density(const SymmetricOperator& op, const DensityOptions& options = {});

/// The two halves of spectral_density: products, with the vectors anywhere; and all the rest.
template <KrylovBasis Basis>
std::vector<Quadrature> quadratures_in(Basis& basis,
                                       double product_noise,
                                       const DensityOptions& options) {
  std::vector<Quadrature> probes;
  Random seeds(options.seed);
  for (int p = 0; p < options.probes; ++p) {
    KrylovSpace<Basis> space(basis, product_noise, seeds.next());
    space.inject();
    do {
      space.expand(0);
      // An invariant space has seen all that this start can see: its quadrature is exact.
    } while (space.finite() && !space.invariant() && !space.complete() &&
             space.products() < options.steps);
    Quadrature probe;
    probe.products = space.products();
    probe.finite = space.finite();
    if (probe.finite) {
      const SymmetricEigen ritz = space.ritz();
      probe.nodes = ritz.values;
      probe.weights = ritz.vectors.row(0).transpose().cwiseAbs2();
    }
    probes.push_back(std::move(probe));
    if (!probes.back().finite) break;
  }
  return probes;
}
Density density_from(const std::vector<Quadrature>& probes,
                     Eigen::Index n,
                     double product_noise,
                     const DensityOptions& options);

}  // namespace kappascope::linalg
