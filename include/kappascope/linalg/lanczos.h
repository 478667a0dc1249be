// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace kappascope::linalg {

/// A symmetric operator of order n as the only thing that Krylov methods know of a matrix.
struct SymmetricOperator {
  Eigen::Index size = 0;
  /// y = A x; x and y are [size] and do not alias.
  std::function<void(const Eigen::VectorXd& x, Eigen::VectorXd& y)> apply = {};
  /// Relative error of one product (‖Δy‖ / (‖A‖ ‖x‖)): 1e-15 in double, about 1e-6 in float.
  double product_noise = 1e-15;
};
/// The matrix is copied; it must be square.
SymmetricOperator dense_operator(const Eigen::MatrixXd& matrix);

enum class KrylovStatus {
  kConverged,     ///< every wanted pair reached its residual
  kMaxProducts,   ///< the budget of products ended first; residuals say how far each pair came
  kNonFinite,     ///< the operator returned NaN or infinity
  kInconsistent,  ///< products contradict each other: the operator is not symmetric, not
                  ///< deterministic (dropout), or noisier than its product_noise says
};
const char* to_string(KrylovStatus status);

enum class SpectrumEnd { kLargest, kSmallest, kBoth };  ///< by value, not by magnitude
const char* to_string(SpectrumEnd end);                 ///< "largest", "smallest" or "both"
/// The end of that name. Throws UsageError, which begins with `option`, for another one.
SpectrumEnd parse_spectrum_end(const std::string& name, const std::string& option);

/// How far an iteration has come, told after each look at the Ritz values.
struct LanczosProgress {
  int products = 0;
  int converged = 0;    ///< of the wanted pairs
  int wanted = 0;       ///< pairs
  double residual = 0;  ///< the largest of theirs, as the tolerance is meant
};

struct LanczosOptions {
  int top = 5;  ///< pairs wanted at each asked end
  SpectrumEnd which = SpectrumEnd::kLargest;
  /// On ‖A v - θ v‖, relative to the outermost |θ| at the same end of the spectrum; where products
  /// are noisier, on their noise.
  double tolerance = 1e-3;
  int max_products = 300;  ///< of the iteration
  int max_basis = 80;      ///< vectors kept before a thick restart; raised to what `top` needs
  std::uint64_t seed = 0;
  bool vectors = false;  ///< return the eigenvectors
  /// A Krylov space holds one vector of each eigenspace, so a repeated eigenvalue comes once. When
  /// on, converged pairs are checked by deflation: a random vector orthogonal to all that was found
  /// grows a dozen steps, until one of them brings nothing new. Costs a dozen products, and as many
  /// again for every repeated eigenvalue. Symmetry of the problem repeats eigenvalues (I ⊗ S, a
  /// linear layer); those of a generic loss are simple.
  bool find_repeated = false;
  /// Go on until every value is certified, also if that takes more products than its residual: a
  /// few, or, where others lie close by, many.
  bool certify = false;
  /// Take the tolerance of both ends from the larger one. Fewer products; values at the smaller end
  /// are as good as that, and where they are not certified only lie near some eigenvalue.
  bool one_scale = false;
  /// Measure each residual by a product of its own, instead of taking it from the projection of A,
  /// which tells it up to the noise of a product. Done in any case where the tolerance is within
  /// thirty times that noise.
  bool measure_residuals = false;
  std::function<void(const LanczosProgress&)> progress = {};
  /// Asked after each product whether to end with what is there, as when products run out.
  std::function<bool()> stop = {};
};

/// A value of the projection of A: an eigenvalue lies within `residual` of it, up to the noise of a
/// product.
struct RitzValue {
  double value = 0, residual = 0;
};

/// Eigenvalues at the ends of a spectrum, and what they are worth.
struct ExtremeEigenvalues {
  KrylovStatus status = KrylovStatus::kMaxProducts;
  Eigen::VectorXd eigenvalues = {};  ///< descending; the largest `top` and/or the smallest `top`
  Eigen::VectorXd residuals = {};    ///< ‖A v - θ v‖ of each, up to the noise of a product
  /// [k] how far from it an eigenvalue may have been missed. With probability 95 % over the random
  /// start, the eigenvalues beyond value i at its end all lie within reach(i) of the values that
  /// were found, so that it is the next of them; those that lie closer together count as one. 0: by
  /// the whole space, for certain; infinite: nothing is known.
  Eigen::VectorXd reach = {};
  Eigen::VectorXd tolerances = {};  ///< [k] what was asked for of each, and what noise allows
  int products = 0;                 ///< all of them
  double product_noise = 0;         ///< relative error of one, as the operator stated it
  SpectrumEnd which = SpectrumEnd::kLargest;  ///< the ends that were asked for
  /// Each eigenvalue comes as often as it is there: find_repeated confirmed it, or the iteration
  /// went through the whole space. Without it a repeated eigenvalue comes once.
  bool multiplicity_checked = false;
  /// Where one end was asked for: the extreme Ritz value at the other one, in the same space, for
  /// no further product. The eigenvalue at that end is at this value or beyond it (Rayleigh and
  /// Ritz). None where the space holds nothing but the wanted pairs.
  std::optional<RitzValue> other_end = {};

  /// How many vectors memory left room for, where that was fewer than max_basis: then there were
  /// more restarts. 0: it was no limit.
  int room_for_vectors = 0;
  bool stopped = false;  ///< LanczosOptions::stop ended it before
  /// The vectors were held in 16 bits a number, for want of memory; the residuals are those of
  /// products in full precision.
  bool packed_vectors = false;

  /// Value i has its tolerance, whether or not all have.
  [[nodiscard]] bool converged(Eigen::Index i) const { return residuals(i) <= tolerances(i); }
  /// Value i is certified to be the extreme one of its rank: an eigenvalue that was missed lies
  /// within the tolerance of one that was found. Another only lies near some eigenvalue.
  [[nodiscard]] bool certified(Eigen::Index i) const { return reach(i) <= tolerances(i); }
  /// Whether value i stands for its rank: certified, or the outermost of its end, of which reach(i)
  /// itself is the bound on the other side.
  [[nodiscard]] bool ranked(Eigen::Index i) const;
  /// The largest magnitude seen, other_end's among them: what noise is relative to.
  [[nodiscard]] double magnitude() const;
  /// The eigenvalue of largest magnitude lies at the end that was not asked for.
  [[nodiscard]] bool other_end_dominates() const;
  /// [k] how far from an eigenvalue each value can be: its residual, and the error of a product.
  [[nodiscard]] Eigen::VectorXd bounds() const;
  /// Where the eigenvalue of rank i lies, 95 %, if ranked(i), else some eigenvalue: the bound, and
  /// outwards the reach where that is more.
  [[nodiscard]] std::pair<double, double> interval(Eigen::Index i) const;
};

struct LanczosResult : ExtremeEigenvalues {
  Eigen::MatrixXd eigenvectors = {};  ///< [n, k] orthonormal, when asked
};

/// How an interface calls the options that a certificate names.
struct OptionNames {
  const char* max_products = "max_products";
  const char* tolerance = "tolerance";
  const char* both_ends = "SpectrumEnd::kBoth";
  const char* find_repeated = "find_repeated";
  const char* certify = "certify";
};

/// In words, a sentence a line: what each value is worth, whether multiplicity was looked for, and
/// what the Krylov space shows of an end that was not asked for.
std::string certificate(const ExtremeEigenvalues& found, const OptionNames& names = {});

/// Extreme eigenpairs by Lanczos with full reorthogonalisation and thick restart (Wu and Simon
/// 2000). n = 1, k = n, the zero operator and repeated eigenvalues are ordinary cases; where the
/// two ends meet (n <= 2 top) all n values come once. Where products ran out early, fewer pairs
/// than asked may come. kNonFinite comes without pairs: nothing is invented.
///
/// `start`, [n, s]: start vectors; empty: a random one. The sum of the last snapshot's eigenvectors
/// is good: a single vector gets a random part as long as the root of the tolerance, for `reach`,
/// which wants another seed than the snapshot had. Several take a product each before anything goes
/// on from them, and have no reach without `certify`. Pass several vectors only if they are nearly
/// converged; otherwise pass their sum.
///
///     const auto found = lanczos(dense_operator(matrix), {.top = 3, .tolerance = 1e-10});
///     std::puts(certificate(found).c_str());
///
/// Throws when top, max_products or n is below 1, or the start has another width. Cost: products,
/// and 4 n · basis flops a product; memory n · (max_basis + 2) doubles.
LanczosResult lanczos(const SymmetricOperator& op,
                      const LanczosOptions& options = {},
                      const Eigen::MatrixXd& start = {});

}  // namespace kappascope::linalg
