// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace kappascope::nn {

/// The states of the generators that a model on a device draws from: the host's, and the device's
/// own where it has one.
struct RandomStates {
  at::Tensor host;    ///< [bytes]
  at::Tensor device;  ///< undefined where the device draws by the host's, and where it is not known

  /// As they are now.
  static RandomStates of(const at::Device& device);
  /// Sets the generators to them; one without a state is left as it is.
  void restore(const at::Device& to) const;
};

/// Leaves the generators as it found them.
class KeepRandomStates {
 public:
  explicit KeepRandomStates(const at::Device& device)
      : device_(device), states_(RandomStates::of(device)) {}
  ~KeepRandomStates() { states_.restore(device_); }
  KeepRandomStates(const KeepRandomStates&) = delete;
  KeepRandomStates& operator=(const KeepRandomStates&) = delete;

 private:
  at::Device device_;
  RandomStates states_;
};

}  // namespace kappascope::nn
