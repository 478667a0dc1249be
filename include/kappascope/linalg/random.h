// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace kappascope::linalg {

/// A small random number generator (SplitMix64; Steele, Lea and Flood 2014) whose whole state is
/// one integer, and whose every derived draw is defined here and not by the standard library: the
/// same seed gives the same numbers with every compiler, and a checkpoint stores eight bytes.
/// Not for cryptography.
class Random {
 public:
  explicit Random(std::uint64_t seed = 0) : state_(seed) {}

  std::uint64_t next();
  /// Uniform on the open interval (0, 1).
  double uniform();
  /// Uniform on {0, …, bound - 1}, without bias; bound > 0.
  std::uint64_t below(std::uint64_t bound);
  /// Standard normal (Box and Muller, one of the pair, so that there is no hidden second half).
  double normal();
  /// `size` independent standard normals.
  Eigen::VectorXd normal_vector(Eigen::Index size);

  /// Random(state()) continues the sequence exactly.
  [[nodiscard]] std::uint64_t state() const { return state_; }

 private:
  std::uint64_t state_;
};

}  // namespace kappascope::linalg
