// SPDX-License-Identifier: Apache-2.0
#include "tensor/autocast.h"

#include <ATen/autocast_mode.h>
#include <torch/types.h>

namespace kappascope::tensor {
namespace {

bool knows(at::DeviceType device) {
  return device == torch::kCPU || device == torch::kCUDA;
}

void set(at::DeviceType device, std::optional<at::ScalarType> type) {
  if (!knows(device)) return;
  at::autocast::set_autocast_enabled(device, type.has_value());
  if (type) at::autocast::set_autocast_dtype(device, *type);
}

}  // namespace

std::optional<at::ScalarType> Autocast::now(at::DeviceType device) {
  if (!knows(device) || !at::autocast::is_autocast_enabled(device)) return std::nullopt;
  return at::autocast::get_autocast_dtype(device);
}

Autocast::Autocast(at::DeviceType device, std::optional<at::ScalarType> type)
    : device_(device), before_(now(device)) {
  set(device, type);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  set(device_, before_);
}

NoCastCache::NoCastCache() : before_(at::autocast::is_autocast_cache_enabled()) {
  at::autocast::set_autocast_cache_enabled(false);
}

NoCastCache::~NoCastCache() {
  at::autocast::set_autocast_cache_enabled(before_);
}

}  // namespace kappascope::tensor
