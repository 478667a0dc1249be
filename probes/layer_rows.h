// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/require.h"
#include "kappascope/tensor/state.h"
#include "probes/layer_windows.h"
#include "tensor/row_sample.h"

namespace kappascope::probes {

/// How many rows a window keeps of a layer of so many features.
using RowsOf = int64_t (*)(int64_t features);

/// Rows that a window keeps of a layer.
struct LayerRows {
  tensor::RowSample sample;
  int64_t dimension = 0;
  RowsOf most;

  LayerRows(int64_t features, RowsOf rows)
      : sample(rows(features)), dimension(features), most(rows) {}
  /// Reads back what state() gave. Throws Error where it is none.
  LayerRows(const tensor::State& state, RowsOf rows)
      : sample(1), dimension(state.integer("dimension")), most(rows) {
    require(dimension >= 1, "a layer cannot have {} features", dimension);
    sample.load(state.inner("sample"), dimension);
  }

  [[nodiscard]] tensor::State state() const {
    tensor::State out;
    out.set("dimension", dimension);
    out.set("sample", sample.state());
    return out;
  }
  /// Adds what another process has kept.
  void merge(const LayerRows& other) {
    sample.limit(most(dimension));
    sample.merge(other.sample);
  }
};

/// A probe whose `Layer` keeps rows, `Layer::kept`, and is made from its number of features.
template <typename Layer>
class RowWindows : public LayerWindows<Layer> {
 public:
  explicit RowWindows(RowsOf rows) : rows_(rows) {}

  [[nodiscard]] session::Needs needs() const override { return {.features = true}; }
  [[nodiscard]] double presumed_memory(int64_t features, int64_t rows, int bytes) const override {
    return static_cast<double>(std::min(rows, rows_(features))) * static_cast<double>(features) *
           bytes;
  }
  void emit_with(tensor::Group& group, double seconds, store::Snapshot& out) override {
    // As many rows come together as one process would keep.
    for (auto& [name, layer] : this->layers())
      layer.kept.sample.limit(rows_(layer.kept.dimension) / group.size());
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

  RowsOf rows_;
};

}  // namespace kappascope::probes
