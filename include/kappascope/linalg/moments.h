// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>
#include <vector>

namespace kappascope::linalg {

/// Rows as they come from a network: row-major [tokens, d].
using RowMatrixF = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using RowMatrixD = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Mean and covariance of feature rows, all with divisor n, so that `covariance + mean meanᵀ` is
/// exactly the sample second moment.
struct Moments {
  std::int64_t n = 0;                ///< rows that entered
  std::int64_t nonfinite_rows = 0;   ///< rows left out because an entry was NaN or infinite
  double n_effective = 0;            ///< n divided by the design effect of dependent rows; <= n
  Eigen::VectorXd mean;              ///< [d]; zero when n = 0
  Eigen::MatrixXd covariance;        ///< [d, d], divisor n; zero when n <= 1
  /// A uniform sample of the rows, [k, d]: what the tails look like (the error of kappa needs it).
  RowMatrixF sample;
};

struct MomentOptions {
  /// Rows kept as a uniform sample. 0 keeps none; kappa then assumes Gaussian tails and says so.
  Eigen::Index sample_rows = 512;
  /// Seed of the reservoir, so that a run repeats to the last bit.
  std::uint64_t seed = 0;
};

/// Streaming mean and covariance of rows in R^d: about a shift (the mean of the first rows), in
/// double, never E[x²] - E[x]² about zero (Chan, Golub and LeVeque 1983). Mergeable: the halves of
/// a stream merge to the whole up to rounding. This is the host reference; tensor/moments is the
/// fast twin and is tested against it. Memory: d² + sample_rows · d.
class MomentAccumulator {
 public:
  explicit MomentAccumulator(Eigen::Index dimension, MomentOptions options = {});

  /// Adds rows [tokens, d]. `mask[i]` = 0 leaves row i out (padding). Rows of one group (the
  /// tokens of one sequence) follow each other; `rows_per_group` = 1 says that rows are
  /// independent. Throws when widths differ or the group does not divide the rows.
  void update(const Eigen::Ref<const RowMatrixD>& rows,
              const std::vector<std::uint8_t>& mask = {},
              Eigen::Index rows_per_group = 1);

  /// Adds everything that `other` has seen; the shifts may differ. The sample stays uniform.
  void merge(const MomentAccumulator& other);

  [[nodiscard]] Moments result() const;
  [[nodiscard]] Eigen::Index dimension() const { return sum_.size(); }

 private:
  Eigen::VectorXd sum_;
};

}  // namespace kappascope::linalg
