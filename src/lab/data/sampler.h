// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kappascope::data {

/// Minibatches without replacement, a fresh shuffle each epoch, as a pure function of (seed, step):
/// nothing needs to be saved to continue in the middle of an epoch. The rows of an epoch that do
/// not fill a batch are left out of that epoch.
class EpochSampler {
 public:
  /// Throws when the set is empty or the batch is not in [1, size].
  EpochSampler(int64_t size, int64_t batch, std::uint64_t seed);

  /// Indices [batch] (int64) of the step'th minibatch, step = 0, 1, ...
  at::Tensor indices(int64_t step);
  [[nodiscard]] int64_t steps_per_epoch() const { return size_ / batch_; }

 private:
  int64_t size_, batch_;
  std::uint64_t seed_;
  int64_t epoch_ = -1;
  at::Tensor order_;  // the shuffle of epoch_
};

}  // namespace kappascope::data
