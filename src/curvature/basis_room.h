// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "kappascope/tensor/group.h"

namespace kappascope::curvature {

/// Bytes that are free where tensors of these options lie, an equal part of them where the
/// processes of a group (collective) take them on one host; nothing where that is not known.
std::optional<std::int64_t> free_bytes(const at::TensorOptions& options,
                                       tensor::Group* group = nullptr);

/// How many of `wanted` vectors of `bytes` fit into a quarter of `free`, `least` at least: the rest
/// is for the products, and for what else the process does. Restarts are cheap: the five largest of
/// a small GPT-2 took 40 products with 80 vectors, 41 with 20 and 44 with 13.
inline int basis_room(std::optional<std::int64_t> free,
                      std::int64_t bytes,
                      int wanted,
                      int least = 1) {
  if (!free) return wanted;
  return static_cast<int>(
      std::clamp<std::int64_t>(*free / 4 / bytes, std::min(least, wanted), wanted));
}

}  // namespace kappascope::curvature
