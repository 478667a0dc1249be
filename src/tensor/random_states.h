// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kappascope::tensor {

/// The states of the generators that a model on a device draws from: the host's, and the device's
/// own where it has one.
struct RandomStates {
  at::Tensor host;    ///< [bytes]
  at::Tensor device;  ///< undefined where the device draws by the host's, and where it is not known

  /// As they are now.
  static RandomStates of(const at::Device& device) {
    RandomStates states{generator_of(at::kCPU).get_state(), {}};
    if (device.is_cuda()) states.device = generator_of(device).get_state();
    return states;
  }
  /// Sets the generators to them; one without a state is left as it is.
  void restore(const at::Device& to) const {
    if (host.defined()) generator_of(at::kCPU).set_state(host);
    if (to.is_cuda() && device.defined()) generator_of(to).set_state(device);
  }

 private:
  static at::Generator generator_of(const at::Device& device) {
    return at::globalContext().defaultGenerator(device);
  }
};

/// From the same states in several processes, sets the generators to draw other numbers in each.
inline void draw_apart(const at::Device& device, int rank) {
  auto host = at::globalContext().defaultGenerator(at::kCPU);
  const auto seed = at::check_generator<at::CPUGeneratorImpl>(host)->random64() +
                    static_cast<std::uint64_t>(rank);
  host.set_current_seed(seed);
  if (!device.is_cuda()) return;
  auto on_device = at::globalContext().defaultGenerator(device);
  on_device.set_current_seed(seed);
}

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

}  // namespace kappascope::tensor
