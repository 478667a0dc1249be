// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "linalg/learning/sketch.h"
#include "tensor/learning/blocked_rows.h"
#include "tensor/learning/tridiagonal.h"

namespace kappascope::tensor {

/// Lanczos on the second moments of both halves, and of each half without each of its blocks, all
/// at once. Part 0 of a half is all of it; the others leave one block out.
class Lanczos {
 public:
  /// scale: [d]; bias: [d] or empty; sums: [blocks] of [p, d], each block's rows with random signs.
  Lanczos(const BlockedRows& rows,
          at::Tensor scale,
          const Eigen::VectorXd& bias,
          const std::vector<at::Tensor>& sums,
          int64_t steps);

  [[nodiscard]] int64_t parts() const { return std::ssize(parts_); }
  /// The block that a part is without; -1: none.
  [[nodiscard]] static Eigen::Index left_out(int64_t half, int64_t part) {
    return part == 0 ? -1 : half + 2 * (part - 1);
  }
  [[nodiscard]] linalg::Trained trained(int64_t half, int64_t part) const;
  /// How many of the top Ritz vectors of a part are eigenvectors. Any other depends on the random
  /// signs that it was found with, whose sum lies along it more than chance has it.
  [[nodiscard]] int64_t converged(int64_t half, int64_t part) const;
  /// [2, parts, k, d] orthonormal vectors along which each part varies most, the last the most: the
  /// most that converged in any part, at least one.
  [[nodiscard]] at::Tensor directions() const;

 private:
  /// Where the start vectors of a part are, the same in both halves.
  struct Part {
    int64_t own = 0;   ///< first of `probes_`, of its own rows
    int64_t held = 0;  ///< of the other half: first of `probes_` for each block, or for all of them
    int64_t along = 0;  ///< the mean, and the mean with the bias
    int64_t end = 0;
  };

  /// [vectors, d] of a half; `parts_` where it is the first.
  [[nodiscard]] at::Tensor start(int64_t half, const std::vector<at::Tensor>& sums);
  void join();
  [[nodiscard]] at::Tensor product(const at::Tensor& vectors) const;
  void run(at::Tensor vectors, int64_t steps);
  void orthogonalise_own(at::Tensor& next, int64_t count) const;
  void keep(const at::Tensor& start,
            const at::Tensor& diagonals,
            const at::Tensor& besides,
            const at::Tensor& products);
  [[nodiscard]] std::size_t place(int64_t half, int64_t vector) const {
    return static_cast<std::size_t>(half * vectors_ + vector);
  }
  [[nodiscard]] linalg::Curve mean_curve(int64_t half,
                                         int64_t first,
                                         const Eigen::ArrayXd& lambdas) const;

  const BlockedRows& rows_;
  at::Tensor scale_;
  std::optional<at::Tensor> bias_;
  int64_t probes_, vectors_ = 0;
  std::vector<Part> parts_;
  at::Tensor own_;              // the first vector of each part
  at::Tensor centre_, counts_;  // [2, 1, d], [2, vectors, 1]
  at::Tensor beside_;  // [2, blocks / 2 (+ 1), d]: sums of the other half's blocks, the bias
  at::Tensor joined_;  // [2, rows, d]
  at::Tensor shares_;  // [2, vectors, rows]: of a row in its part's moment; 0 where it is not in it
  at::Tensor basis_;   // [2, parts, steps, d] of the vectors `own_`
  std::vector<Tridiagonal> found_;         // [2 * vectors]
  std::vector<Eigen::MatrixXd> products_;  // [2 * vectors] of [steps, beside]
  double slack_ = 0;
};

}  // namespace kappascope::tensor
