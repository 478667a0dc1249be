// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/require.h"
#include "kappascope/tensor/state.h"
#include "probes/layer_windows.h"
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

/// A probe whose `Layer` keeps rows, `Layer::kept`, at most `Layer::most(features)`, and is made
/// from its number of features.
template <typename Layer>
class RowWindows : public LayerWindows<Layer> {
 public:
  [[nodiscard]] session::Needs needs() const override { return {.features = true}; }
  [[nodiscard]] double presumed_memory(int64_t features, int64_t rows, int bytes) const override {
    return static_cast<double>(std::min(rows, Layer::most(features))) *
           static_cast<double>(features) * bytes;
  }
  void emit_with(tensor::Group& group, double seconds, store::Snapshot& out) override {
    // As many rows come together as one process would keep.
    for (auto& [name, layer] : this->layers())
      layer.kept.sample.limit(Layer::most(layer.kept.dimension) / group.size());
    LayerWindows<Layer>::emit_with(group, seconds, out);
  }

 protected:
  /// Adds to the layer what its rows do not say.
  virtual void add_rows(const session::LayerView& view, Layer& layer) = 0;

 private:
  void add_pass(int64_t /*step*/, const session::LayerView& view) final {
    auto& layer = this->layers().try_emplace(view.name, view.features.size(1)).first->second;
    layer.kept.sample.update(view.features, view.mask, view.rows_per_group);
    add_rows(view, layer);
  }
};

}  // namespace kappascope::probes
