// SPDX-License-Identifier: Apache-2.0
#include "lab/data/sampler.h"

#include <torch/types.h>

#include "core/require.h"

namespace kappascope::data {

EpochSampler::EpochSampler(int64_t size, int64_t batch, std::uint64_t seed)
    : size_(size), batch_(batch), seed_(seed) {
  require(size > 0, "the data set is empty");
  require(batch > 0 && batch <= size,
          "the batch size must be between 1 and the size of the data set ({}), got {}",
          size,
          batch);
}

at::Tensor EpochSampler::indices(int64_t step) {
  const int64_t epoch = step / steps_per_epoch();
  if (epoch != epoch_) {
    // A generator of its own: the shuffle depends on (seed, epoch) alone and leaves the global
    // random state, which dropout uses, untouched.
    auto generator = at::make_generator<at::CPUGeneratorImpl>(seed_ * 0x9E3779B97F4A7C15ULL +
                                                              static_cast<std::uint64_t>(epoch));
    order_ = torch::randperm(size_, generator, torch::kLong);
    epoch_ = epoch;
  }
  return order_.narrow(0, step % steps_per_epoch() * batch_, batch_);
}

}  // namespace kappascope::data
