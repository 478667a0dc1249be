// SPDX-License-Identifier: Apache-2.0
#include "kappascope/nn/random_states.h"

#include <torch/types.h>

namespace kappascope::nn {
namespace {

at::Generator generator_of(const at::Device& device) {
  return at::globalContext().defaultGenerator(device);
}

}  // namespace

RandomStates RandomStates::of(const at::Device& device) {
  RandomStates states{generator_of(torch::kCPU).get_state(), {}};
  if (device.is_cuda()) states.device = generator_of(device).get_state();
  return states;
}

void RandomStates::restore(const at::Device& to) const {
  if (host.defined()) generator_of(torch::kCPU).set_state(host);
  if (to.is_cuda() && device.defined()) generator_of(to).set_state(device);
}

}  // namespace kappascope::nn
