// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kappascope/tensor/state.h"

namespace kappascope::probes {

/// What a probe holds a layer: `state_of(layer)` gives that of one.
template <typename Layer, typename StateOf>
tensor::State layer_states(const std::map<std::string, Layer>& layers, StateOf state_of) {
  tensor::State out;
  out.set("layers", static_cast<std::int64_t>(layers.size()));
  std::int64_t index = 0;
  for (const auto& [name, layer] : layers) {
    tensor::State inner = state_of(layer);
    inner.set("name", name);
    out.set("layer" + std::to_string(index++), inner);
  }
  return out;
}

/// Reads it back: `layer_of(inner)` makes one layer.
template <typename Layer, typename LayerOf>
void load_layers(const tensor::State& state,
                 std::map<std::string, Layer>& layers,
                 LayerOf layer_of) {
  layers.clear();
  const auto count = state.integer("layers");
  for (std::int64_t index = 0; index < count; ++index) {
    const auto inner = state.inner("layer" + std::to_string(index));
    layers.emplace(inner.text("name"), layer_of(inner));
  }
}

}  // namespace kappascope::probes
