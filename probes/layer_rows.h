// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/require.h"
#include "kappascope/tensor/state.h"
#include "tensor/row_sample.h"

namespace kappascope::probes {

/// Rows that a window keeps of a layer.
struct LayerRows {
  tensor::RowSample sample;
  int64_t dimension = 0;

  LayerRows(int64_t capacity, int64_t features) : sample(capacity), dimension(features) {}
  /// Reads back what state() gave. Throws Error where it is none.
  explicit LayerRows(const tensor::State& state)
      : sample(1), dimension(state.integer("dimension")) {
    require(dimension >= 1, "a layer cannot have {} features", dimension);
    sample.load(state.inner("sample"), dimension);
  }

  [[nodiscard]] tensor::State state() const {
    tensor::State out;
    out.set("dimension", dimension);
    out.set("sample", sample.state());
    return out;
  }
  /// Adds what another process has kept, and keeps at most `capacity`.
  void merge(const LayerRows& other, int64_t capacity) {
    sample.limit(capacity);
    sample.merge(other.sample);
  }
};

}  // namespace kappascope::probes
