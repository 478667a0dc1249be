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

/// The vectors of a Krylov basis.
struct BasisRoom {
  int vectors;
  bool
      packed;  ///< in 16 bits a number (tensor/packed.h), which costs a product for each pair found
};

struct VectorBytes {
  std::int64_t full = 0;
  std::int64_t packed = 0;  ///< 0: it may not be packed
};

/// How many of `wanted` vectors fit into a third of `free`, `least` at least: the rest is for the
/// products, and for what else the process does. They are packed where less than half of them fit.
inline BasisRoom basis_room(std::optional<std::int64_t> free,
                            const VectorBytes& bytes,
                            int wanted,
                            int least = 1) {
  if (!free) return {wanted, false};
  const auto fit = [&](std::int64_t one) {
    return static_cast<int>(
        std::clamp<std::int64_t>(*free / 3 / one, std::min(least, wanted), wanted));
  };
  const int full = fit(bytes.full);
  if (bytes.packed == 0 || 2 * full >= wanted) return {full, false};
  return {fit(bytes.packed), true};
}

}  // namespace kappascope::curvature
