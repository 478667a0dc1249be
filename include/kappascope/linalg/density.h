// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kappascope/linalg/lanczos.h"

namespace kappascope::linalg {

struct DensityOptions {
  int steps = 60;  ///< Lanczos steps from each start vector; the order of the operator bounds them
  int starts = 4;  ///< random start vectors a batch; the more, the narrower the band
  int points = 512;         ///< of the grid
  double bandwidth = 0.01;  ///< standard deviation of the smoothing, as a share of the range
  /// Vectors held at once, the work vector among them; 0: as many as there are steps and
  /// known pairs, and one. When they do not fit, the basis is not kept, and three and the known
  /// ones are enough.
  int max_vectors = 0;
  /// The bulk ends where the next Ritz value is farther than this share of the range.
  double outlier_gap = 0.05;
  std::uint64_t seed = 0;
};

enum class Reorthogonalisation {
  kPartial,  ///< semi-orthogonal vectors: nodes and weights are those of the operator to its noise
  kNone,     ///< the basis did not fit: integrals hold, but an eigenvalue may come as several nodes
};
const char* to_string(Reorthogonalisation reorthogonalisation);

/// A share of the spectrum, with bounds that hold as the band of the cumulative density does.
struct Share {
  double value = std::numeric_limits<double>::quiet_NaN();
  double lower = value, upper = value;
};

/// An eigenvalue of one operator lies within `bound` of `value`.
struct Outlier {
  double value = 0, bound = 0;
};

/// Spectral density (1/n) Σ δ(x - λ_i), by stochastic Lanczos quadrature (Ubaru, Chen and Saad
/// 2017): a random unit vector v sees it with weights (v_i · v)², whose mean is 1/n. Eigenvalues of
/// multiplicity count with it. Over several operators, batches of one loss, it is the mean density
/// of the distribution that the batches are drawn from.
struct Density {
  /// kNonFinite: the operator returned NaN or infinity and everything below is empty or NaN;
  /// otherwise kConverged (a density has no residual: its error is the band).
  KrylovStatus status = KrylovStatus::kConverged;
  /// [points], smoothed by a Gaussian; the band is 95 % pointwise, cut at 0. It has two parts,
  /// added up: chance, as in trace_lower; and what the steps leave open, as much as the last of
  /// them changed.
  Eigen::VectorXd grid, density, lower, upper;
  /// [points] the share of the spectrum at or below each point, not smoothed. The band has two
  /// parts, added up. What m steps leave open, for each start by the inequalities of Chebyshev,
  /// Markov and Stieltjes, within rounding of the product. And chance: for one batch the start's
  /// measure is Dirichlet with parameters 1/2 (Chen, Trogdon and Ubaru 2021), whose largest
  /// deviation over all points is Kolmogorov's, so the band holds for all points at once with
  /// 95 %, from one start on; for several batches it is Student's t over them, 95 % pointwise. Cut
  /// to [0, 1].
  Eigen::VectorXd cumulative, cumulative_lower, cumulative_upper;
  Eigen::VectorXd nodes, weights;  ///< all starts' Ritz values; the weights sum to 1
  Share negative_mass;             ///< below -(10 · noise · largest magnitude)
  Share near_zero_mass;            ///< within 1e-3 of the largest magnitude
  /// The bulk holds the median and goes on to either side as far as no gap between all starts' Ritz
  /// values exceeds outlier_gap of their range.
  double bulk_low = std::numeric_limits<double>::quiet_NaN(), bulk_high = bulk_low;
  /// Eigenvalues outside the bulk, descending: Ritz values there with a bound below half of the
  /// gap, those of several starts within each other's bounds once (of several batches: as often as
  /// they differ).
  std::vector<Outlier> outliers;
  /// How many eigenvalues lie outside the bulk, with their multiplicity: n times the mass there,
  /// and the standard error of that.
  double outlier_count = bulk_low, outlier_count_stderr = bulk_low;
  /// Of the operator: n times the mean of the density. The first moment of a quadrature is exact,
  /// so this is Hutchinson's estimate over the same starts. Its standard error follows from the
  /// second moment, which is exact too, and where there are several batches is that over their
  /// means if this is larger.
  double trace = 0, trace_stderr = 0;
  /// 95 %, Student's t with as many degrees of freedom as starts (or one fewer than batches): it
  /// holds from one start on, and where an eigenvalue that is not known carries the trace.
  double trace_lower = 0, trace_upper = 0;
  /// The part of trace_stderr² that more starts would lessen, the rest being that of batches.
  double start_share = bulk_low;
  int products = 0;
  int batches = 1;
  int known = 0;  ///< eigenvalues whose part is exact; what else lies apart is estimated
  Reorthogonalisation reorthogonalisation = Reorthogonalisation::kPartial;
};

/// Cost: at most starts · steps products for each operator, and max_vectors · n numbers of memory.
/// `known`: what lanczos() found of it, with eigenvectors; those that are known well are taken
/// exactly, and the starts are orthogonal to them, so that outliers no longer make the errors.
/// Throws when an option is not positive, max_vectors is 1 or 2, orders differ, or known pairs have
/// no eigenvectors.
Density spectral_density(const SymmetricOperator& op,
                         const DensityOptions& options = {},
                         const LanczosResult& known = {});
Density spectral_density(std::span<const SymmetricOperator> batches,
                         const DensityOptions& options = {});

}  // namespace kappascope::linalg
