// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace kappascope::tensor {

/// LibTorch's autocast on a device for as long as it lives: products of matrices and attention are
/// taken in a type of 16 bits, and weights stay what they are. Without a type, and on a device that
/// has none, everything stays in its own. Guards may be nested.
class Autocast {
 public:
  Autocast(at::DeviceType device, std::optional<at::ScalarType> type);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

  /// What is on for this device now.
  static std::optional<at::ScalarType> now(at::DeviceType device);

 private:
  at::DeviceType device_;
  std::optional<at::ScalarType> before_;
};

/// Keeps autocast from reusing the weights that it casts, as long as it lives: one cast where no
/// gradients are recorded has none to hand on.
class NoCastCache {
 public:
  NoCastCache();
  ~NoCastCache();
  NoCastCache(const NoCastCache&) = delete;
  NoCastCache& operator=(const NoCastCache&) = delete;

 private:
  bool before_;
};

}  // namespace kappascope::tensor
