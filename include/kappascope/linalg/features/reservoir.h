// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "kappascope/linalg/random.h"

namespace kappascope::linalg {

/// Rows kept for later, row-major [rows, d].
using RowMatrixF = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A uniform sample without replacement of at most `capacity` rows of a stream (Vitter 1985,
/// algorithm R). Choosing and copying are apart, so that rows on a device are fetched only when
/// they were chosen:
///
///   for (auto [source, slot] : reservoir.choose(count)) reservoir.put(slot, row(source));
///
/// Deterministic: the same seed and the same stream keep the same rows. Memory: capacity · d
/// floats.
class Reservoir {
 public:
  /// Row `source` of the rows offered goes to `slot`; a slot may come more than once, the last
  /// wins.
  struct Choice {
    std::int64_t source = 0;
    Eigen::Index slot = 0;
  };
  /// All there is to know, for a checkpoint.
  struct State {
    RowMatrixF rows;            ///< [min(seen, capacity), d]
    std::int64_t seen = 0;      ///< rows of the stream so far
    Eigen::Index capacity = 0;  ///< rows kept at most; 0 keeps none
    std::uint64_t random = 0;   ///< state of the generator
  };

  Reservoir(Eigen::Index capacity, Eigen::Index dimension, std::uint64_t seed);
  explicit Reservoir(State state);

  /// Offers the next `count` rows of the stream; every choice must then be `put`.
  std::vector<Choice> choose(std::int64_t count);
  void put(Eigen::Index slot, const Eigen::Ref<const Eigen::RowVectorXf>& row);

  /// Joins the sample of another stream: the result is a uniform sample of both streams together.
  /// Throws when capacities or widths differ.
  void merge(const Reservoir& other);

  [[nodiscard]] const RowMatrixF& rows() const { return state_.rows; }
  [[nodiscard]] const State& state() const { return state_; }

 private:
  State state_;
};

/// How many of n rows differ from each other bit by bit: n where all do, n / m where each was
/// repeated m times, and little below n where one value, as of a blank text, comes often. From a
/// uniform sample of them: those in it, and of the others the lower bound of Chao and Lin (2012)
/// for sampling without replacement, by how many are there once and twice; two standard errors are
/// added to the latter. n where the features have so few values that chance makes pairs: where two
/// rows agree in any one feature more than twice as often as in all.
double different_rows(const RowMatrixF& sample, std::int64_t n);

}  // namespace kappascope::linalg
