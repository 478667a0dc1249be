// SPDX-License-Identifier: Apache-2.0
#include "lab/train/checkpoint/process_states.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstring>
#include <string>

#include "core/require.h"
#include "kappascope/session/session.h"
#include "tensor/random_states.h"
#include "tensor/state_bytes.h"

namespace kappascope::train {
namespace {

constexpr const char *kRandom = "random_state", *kDeviceRandom = "random_state_device";
constexpr const char* kProcesses = "processes";  // that wrote it, where they were several

at::Device device_of(const torch::nn::Module& model) {
  const auto parameters = model.parameters();
  return parameters.empty() ? at::Device(torch::kCPU) : parameters.front().device();
}

/// Where the states of a process stand in a checkpoint.
std::string place_of(int rank) {
  return fmt::format("process/{}", rank);
}

/// LibTorch checks that either number is in range; together they must be, too, or the generator
/// would read beyond its table.
void require_random_state(const at::Tensor& state) {
  constexpr int64_t kLeftAt = 8, kNextAt = 16, kTable = 624;
  const auto* bytes = state.const_data_ptr<uint8_t>();
  int32_t left = 0;
  uint64_t next = 0;
  require(state.numel() >= kNextAt + 8, "its random state is cut off");
  std::memcpy(&left, bytes + kLeftAt, sizeof left);
  std::memcpy(&next, bytes + kNextAt, sizeof next);
  require(left >= 1 && left <= kTable && next <= static_cast<uint64_t>(kTable - left + 1),
          "its random state is none of the generator's");
}

tensor::RandomStates random_states(const tensor::State& state) {
  tensor::RandomStates random{state.tensor(kRandom, torch::kByte, {-1}), {}};
  require_random_state(random.host);
  // A run that goes on on another device draws there what its seed gives.
  if (state.has(kDeviceRandom)) random.device = state.tensor(kDeviceRandom, torch::kByte, {-1});
  return random;
}

}  // namespace

tensor::State process_states(const torch::nn::Module& model, session::Session& session) {
  tensor::State state;
  state.set("session", session.state());
  const auto random = tensor::RandomStates::of(device_of(model));
  state.set(kRandom, random.host);
  if (random.device.defined()) state.set(kDeviceRandom, random.device);
  return state;
}

void gather_process_states(tensor::State& state, tensor::Group* group) {
  if (group == nullptr) return;
  state.set(kProcesses, std::int64_t{group->size()});
  for (int from = 1; from < group->size(); ++from)
    state.set(place_of(from), tensor::from_bytes(group->receive_bytes(from)));
}

bool sent_process_states(const torch::nn::Module& model, session::Session& session) {
  auto* const group = session.group();
  if (group == nullptr || group->leads()) return false;
  group->send_bytes(tensor::to_bytes(process_states(model, session)), 0);
  return true;
}

void require_random_states(const tensor::State& state) {
  random_states(state);
}

void load_process_states(const tensor::State& state,
                         const torch::nn::Module& model,
                         session::Session& session) {
  auto* const group = session.group();
  const auto written = state.has(kProcesses) ? state.integer(kProcesses) : 1;
  const int rank = group == nullptr ? 0 : group->rank();
  const auto own = rank == 0 ? state : state.inner(place_of(rank));
  if (written == (group == nullptr ? 1 : group->size())) {
    const auto random = random_states(own);
    session.load(own.inner("session"));
    random.restore(device_of(model));
    return;
  }
  const auto random = random_states(state);
  session.load_steps(state.inner("session"));
  random.restore(device_of(model));
  if (rank > 0) tensor::draw_apart(device_of(model), rank);
}

}  // namespace kappascope::train
