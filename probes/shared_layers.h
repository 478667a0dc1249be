// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "kappascope/tensor/group.h"
#include "session/failures.h"
#include "tensor/state_bytes.h"

namespace kappascope::probes {

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
