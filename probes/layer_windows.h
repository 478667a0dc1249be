// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "kappascope/store/run.h"
#include "session/failures.h"

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

}  // namespace kappascope::probes
