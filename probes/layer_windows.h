// SPDX-License-Identifier: Apache-2.0
// What the probes do alike with what a window holds of each layer: observe and emit it, save it,
// and bring it together over processes.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "kappascope/store/run.h"
#include "kappascope/tensor/group.h"
#include "kappascope/tensor/state.h"
#include "session/failures.h"
#include "tensor/state_bytes.h"

namespace kappascope::probes {

/// Adds a pass to what a window holds of a layer (`add()`). Where that fails, the layer is let go
/// of, and the window goes on without it.
template <typename Layer, typename Add>
void observe_layer(std::map<std::string, Layer>& layers,
                   session::Failures& failures,
                   const std::string& name,
                   const Add& add) {
  if (!failures.contains(name) && !failures.attempt(name, add)) layers.erase(name);
}

/// Ends a window: `write(name, layer, out)` says what it shows of each layer, which goes before the
/// next one needs room.
template <typename Layer, typename Write>
void emit_layers(std::map<std::string, Layer>& layers,
                 session::Failures& failures,
                 std::string_view probe,
                 store::Snapshot& out,
                 const Write& write) {
  for (; !layers.empty(); layers.erase(layers.begin())) {
    const auto& name = layers.begin()->first;
    auto& layer = layers.begin()->second;
    store::Snapshot written;
    if (failures.attempt(name, [&] { write(name, layer, written); }))
      store::append(std::move(written), out);
  }
  failures.report(probe, out);
}

/// The larger of both, NaN where one is; `before` may be undefined.
inline at::Tensor larger(const at::Tensor& before, const at::Tensor& now) {
  return before.defined() ? torch::maximum(before.to(now.options()), now) : now;
}

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

/// What the processes of a group hold of each layer, added up in the one that the layer falls to;
/// the others let go of it. `state_of(layer)` and `layer_of(state)` carry a layer over, and
/// `merge(sum, layer)` adds it. In the order of the processes, so that the same parts give the same
/// bits. A layer that failed in a process, before or here, falls away in all.
template <typename Layer, typename StateOf, typename LayerOf, typename Merge>
void share_layers(tensor::Group& group,
                  std::map<std::string, Layer>& layers,
                  session::Failures& failures,
                  StateOf state_of,
                  LayerOf layer_of,
                  Merge merge) {
  const std::string failed = "failed";  // no state is so short
  for (const auto& name : failures.in_any(group)) layers.erase(name);
  std::set<std::string> mine;
  for (const auto& [name, layer] : layers) mine.insert(name);
  int owner = 0;
  for (const auto& name : group.all_names(mine)) {
    // Taken out, so that a layer that fails is let go of.
    auto held = layers.extract(name);
    if (owner != group.rank()) {
      std::string bytes;
      if (held &&
          !failures.attempt(name, [&] { bytes = tensor::to_bytes(state_of(held.mapped())); }))
        bytes = failed;
      group.send_bytes(bytes, owner);
    } else {
      std::map<std::string, Layer> sum;
      bool whole = true;
      const auto add = [&](Layer layer) {
        if (const auto there = sum.find(name); there != sum.end()) {
          merge(there->second, layer);
        } else {
          sum.emplace(name, std::move(layer));
        }
      };
      for (int from = 0; from < group.size(); ++from) {
        // What the others send is taken in any case: they wait.
        failures.attempt(name, [&] {
          if (from == group.rank()) {
            if (held) add(std::move(held.mapped()));
            return;
          }
          const auto bytes = group.receive_bytes(from);
          whole = whole && bytes != failed;
          if (!bytes.empty() && whole && !failures.contains(name))
            add(layer_of(tensor::from_bytes(bytes)));
        });
      }
      if (whole && !failures.contains(name)) layers.merge(sum);
    }
    owner = (owner + 1) % group.size();
  }
}

}  // namespace kappascope::probes
