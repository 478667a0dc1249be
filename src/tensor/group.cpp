// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/group.h"

#include <torch/types.h>

#include <cstdint>
#include <cstring>
#include <exception>

#include "kappascope/core/require.h"

namespace kappascope::tensor {
namespace {

at::Tensor tensor_of(const std::string& bytes) {
  auto out = torch::empty({static_cast<std::int64_t>(bytes.size())}, torch::kByte);
  if (!bytes.empty()) std::memcpy(out.mutable_data_ptr(), bytes.data(), bytes.size());
  return out;
}

std::string bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()),
          static_cast<std::size_t>(tensor.numel())};
}

at::Tensor length_of(std::size_t length) {
  return torch::full({1}, static_cast<std::int64_t>(length), torch::kLong);
}

}  // namespace

std::function<void()> Group::begin_add_up(std::vector<at::Tensor> values) {
  for (auto& each : values) add_up(each);
  return [] {};
}

void Group::send_bytes(const std::string& bytes, int to) {
  send(length_of(bytes.size()), to);
  if (!bytes.empty()) send(tensor_of(bytes), to);
}

std::string Group::receive_bytes(int from) {
  auto length = length_of(0);
  receive(length, from);
  auto bytes = torch::empty({length.item<std::int64_t>()}, torch::kByte);
  if (bytes.numel() > 0) receive(bytes, from);
  return bytes_of(bytes);
}

std::string Group::broadcast_bytes(const std::string& bytes) {
  auto length = length_of(bytes.size());
  broadcast(length);
  auto values =
      leads() ? tensor_of(bytes) : torch::empty({length.item<std::int64_t>()}, torch::kByte);
  if (values.numel() > 0) broadcast(values);
  return bytes_of(values);
}

void in_leader(Group* group, const std::function<void()>& work) {
  if (group == nullptr || group->leads()) {
    try {
      work();
    } catch (const std::exception& error) {
      if (group != nullptr) static_cast<void>(group->broadcast_bytes(error.what()));
      throw;
    }
  }
  const auto failure = group == nullptr ? "" : group->broadcast_bytes("");
  require(failure.empty(), "{}", failure);
}

}  // namespace kappascope::tensor
