// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>

#include <cstdint>
#include <exception>
#include <sstream>

#include "core/require.h"

namespace kappascope::tensor {
namespace {

/// The bytes themselves: a copy may not have room. What sends a tensor does not change it.
at::Tensor tensor_of(const std::string& bytes) {
  return torch::from_blob(const_cast<char*>(bytes.data()),  // NOLINT(*-const-cast)
                          {static_cast<std::int64_t>(bytes.size())},
                          torch::kByte);
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
  if (bytes.empty()) return;
  auto has_room = length_of(0);
  receive(has_room, to);
  if (has_room.item<std::int64_t>() != 0) send(tensor_of(bytes), to);
}

std::string Group::receive_bytes(int from) {
  auto length = length_of(0);
  receive(length, from);
  const auto count = length.item<std::int64_t>();
  if (count == 0) return {};
  at::Tensor bytes;
  try {
    bytes = torch::empty({count}, torch::kByte);
  } catch (const std::exception&) {
    send(length_of(0), from);
    throw Error(fmt::format("no memory for {} bytes of process {}", count, from));
  }
  send(length_of(1), from);
  receive(bytes, from);
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

std::set<std::string> Group::all_names(const std::set<std::string>& mine) {
  auto text = fmt::format("{}\n", fmt::join(mine, "\n"));
  if (mine.empty()) text.clear();
  if (!leads()) send_bytes(text, 0);
  for (int from = 1; leads() && from < size(); ++from) text += receive_bytes(from);
  std::istringstream lines(broadcast_bytes(text));
  std::set<std::string> all;
  for (std::string name; std::getline(lines, name);) all.insert(name);
  return all;
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
