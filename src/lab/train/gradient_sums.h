// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "kappascope/tensor/group.h"

namespace kappascope::train {

/// The gradients of the parameters, added up over the processes of a group in buckets. A bucket is
/// sent as soon as a backward pass has made all of its gradients, so that it travels while the pass
/// makes the others. Buckets are filled from the last parameter to the first, as a pass does, and
/// are sent in that order in every process. For one step, and from before its first pass.
class GradientSums {
 public:
  static constexpr std::int64_t kBucketBytes = 4'000'000;

  /// `passes`: backward passes of the step in this process, each of which may add to any gradient.
  /// A bucket holds at most so many bytes, or one parameter.
  GradientSums(const std::vector<at::Tensor>& parameters,
               std::int64_t passes,
               tensor::Group& group,
               std::int64_t bucket_bytes = kBucketBytes);
  ~GradientSums();
  GradientSums(const GradientSums&) = delete;
  GradientSums& operator=(const GradientSums&) = delete;

  /// Collective. Sends what has not been sent, as gradients that no pass has made, and waits: each
  /// gradient is then the sum over the processes, of the same bits in each. A parameter without a
  /// gradient must be without one in each. Throws Error where a process is lost, or where a pass
  /// has changed a gradient that was sent.
  void finish();

 private:
  struct Bucket {
    std::vector<at::Tensor> parameters;
    std::int64_t bytes = 0;
    std::int64_t missing = 0;  ///< additions to its gradients that are still to come
    std::function<void()> wait;
  };

  void added_to(std::size_t bucket);
  void send(Bucket& bucket);

  tensor::Group& group_;
  std::vector<Bucket> buckets_;
  std::size_t next_ = 0;  ///< the first bucket that was not sent
};

}  // namespace kappascope::train
