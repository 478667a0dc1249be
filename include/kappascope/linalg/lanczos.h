// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <vector>

#include "kappascope/linalg/krylov.h"

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
  kInconsistent,  ///< a true residual is far above the computed one: the operator is not symmetric,
                  ///< not deterministic (dropout), or noisier than its product_noise says
};
const char* to_string(KrylovStatus status);

enum class SpectrumEnd { kLargest, kSmallest, kBoth };  ///< by value, not by magnitude

struct LanczosOptions {
  int top = 5;  ///< pairs wanted at each asked end
  SpectrumEnd which = SpectrumEnd::kBoth;
  double tolerance = 1e-3;  ///< on ‖A v - θ v‖ / max |θ|; never below 10 · product noise
  int max_products = 300;   ///< of the iteration; the true residuals take one more each
  int max_basis = 80;       ///< vectors kept before a thick restart; raised to what `top` needs
  std::uint64_t seed = 0;
  bool vectors = false;  ///< return the eigenvectors
  /// A Krylov space holds one vector of each eigenspace. When on, converged pairs are challenged: a
  /// random vector orthogonal to all that was found grows a dozen steps, until one of them brings
  /// nothing new. Costs a dozen products, and as many again for every repeated eigenvalue.
  bool find_repeated = true;
  /// Start vector, [n]; empty: random. The sum of the eigenvectors of the last snapshot is good.
  Eigen::VectorXd start = {};
};

struct LanczosResult {
  KrylovStatus status = KrylovStatus::kMaxProducts;
  Eigen::VectorXd eigenvalues = {};   ///< descending; the largest `top` and/or the smallest `top`
  Eigen::VectorXd residuals = {};     ///< true ‖A v - θ v‖ of each, by one more product
  Eigen::MatrixXd eigenvectors = {};  ///< [n, k] orthonormal, when asked
  int products = 0;                   ///< all of them

  /// How far from an eigenvalue each value can be: its residual, and the error of the product that
  /// measured it.
  [[nodiscard]] Eigen::VectorXd bounds(double product_noise) const {
    if (eigenvalues.size() == 0) return {};
    return residuals.array() + product_noise * eigenvalues.cwiseAbs().maxCoeff();
  }
};

/// Extreme eigenpairs by Lanczos with full reorthogonalisation and thick restart (Wu and Simon
/// 2000). n = 1, k = n, the zero operator and repeated eigenvalues are ordinary cases; where the
/// two ends meet (n <= 2 top) all n values come once. Where products ran out early, fewer pairs
/// than asked may come. kNonFinite comes without pairs: nothing is invented. Throws when top,
/// max_products or n is below 1, or the start has another width. Cost: products, and 4 n · basis
/// flops a product; memory n · (max_basis + 2) doubles.
LanczosResult lanczos(const SymmetricOperator& op, const LanczosOptions& options = {});

/// The columns of a KrylovBasis on the host, in double.
class HostBasis {
 public:
  explicit HostBasis(const SymmetricOperator& op);

  [[nodiscard]] Eigen::Index size() const { return op_.size; }
  void load(const Eigen::VectorXd& vector) { work_ = vector; }
  void random(std::uint64_t seed) { work_ = Random(seed).normal_vector(op_.size); }
  void multiply(Eigen::Index i);
  [[nodiscard]] Eigen::VectorXd project(Eigen::Index count) const;
  void subtract(const Eigen::VectorXd& coefficients);
  [[nodiscard]] double dot(Eigen::Index i) const { return columns_.col(i).dot(work_); }
  [[nodiscard]] double norm() const { return work_.norm(); }
  void axpy(double factor, Eigen::Index i) { work_ += factor * columns_.col(i); }
  void store(Eigen::Index i, double factor);
  void rotate(const Eigen::MatrixXd& y);
  void swap(Eigen::Index i, Eigen::Index j) { columns_.col(i).swap(columns_.col(j)); }
  [[nodiscard]] Eigen::MatrixXd columns(Eigen::Index count) const {
    return columns_.leftCols(count);
  }

 private:
  const SymmetricOperator& op_;
  Eigen::MatrixXd columns_;
  Eigen::VectorXd work_, product_;
};

/// The algorithm, for a basis anywhere. `start_loaded`: the start vector is in w already. The
/// eigenvectors are left in the first columns of the basis, in the order of the result (also when
/// the options do not ask for a copy).
template <KrylovBasis Basis>
LanczosResult lanczos_in(Basis& basis,
                         double product_noise,
                         const LanczosOptions& options,
                         bool start_loaded = false);

}  // namespace kappascope::linalg

#include "kappascope/linalg/lanczos_in.h"
