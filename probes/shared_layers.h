// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "kappascope/tensor/group.h"
#include "kappascope/tensor/state_bytes.h"

namespace kappascope::probes {

/// The names that any process of the group gives, one a line, in every process.
inline std::set<std::string> all_names(const std::set<std::string>& mine, tensor::Group& group) {
  const auto lines = [](const std::set<std::string>& names) {
    std::string text;
    for (const auto& name : names) text += name + '\n';
    return text;
  };
  auto text = lines(mine);
  if (!group.leads()) group.send_bytes(text, 0);
  for (int from = 1; group.leads() && from < group.size(); ++from)
    text += group.receive_bytes(from);
  std::istringstream joined(group.broadcast_bytes(text));
  return {std::istream_iterator<std::string>(joined), {}};
}

/// What the processes of a group hold of each layer, added up in the one that the layer falls to;
/// the others let go of it. `state_of(layer)` and `layer_of(state)` carry a layer over, and
/// `merge(sum, layer)` adds it. In the order of the processes, so that the same parts give the same
/// bits.
template <typename Layer, typename StateOf, typename LayerOf, typename Merge>
void share_layers(tensor::Group& group,
                  std::map<std::string, Layer>& layers,
                  StateOf state_of,
                  LayerOf layer_of,
                  Merge merge) {
  std::set<std::string> mine;
  for (const auto& [name, layer] : layers) mine.insert(name);
  int owner = 0;
  for (const auto& name : all_names(mine, group)) {
    const auto found = layers.find(name);
    const bool held = found != layers.end();
    if (owner != group.rank()) {
      group.send_bytes(held ? tensor::to_bytes(state_of(found->second)) : std::string(), owner);
      if (held) layers.erase(found);
    } else {
      std::map<std::string, Layer> sum;
      const auto add = [&](Layer layer) {
        if (const auto there = sum.find(name); there != sum.end()) {
          merge(there->second, layer);
        } else {
          sum.emplace(name, std::move(layer));
        }
      };
      for (int from = 0; from < group.size(); ++from) {
        if (from == group.rank()) {
          if (held) add(std::move(found->second));
        } else if (const auto bytes = group.receive_bytes(from); !bytes.empty()) {
          add(layer_of(tensor::from_bytes(bytes)));
        }
      }
      layers.erase(name);
      layers.merge(sum);
    }
    owner = (owner + 1) % group.size();
  }
}

}  // namespace kappascope::probes
