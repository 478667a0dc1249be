// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/serialize/archive.h>
#include <torch/types.h>

#include <map>
#include <string>

namespace kappascope::probes {

/// Saves what a probe holds a layer: `write(inner, layer)` fills one archive each.
template <typename Layer, typename Write>
void save_layers(torch::serialize::OutputArchive& archive,
                 const std::map<std::string, Layer>& layers,
                 Write write) {
  archive.write("layers", torch::tensor(static_cast<int64_t>(layers.size())));
  int64_t index = 0;
  for (const auto& [name, layer] : layers) {
    torch::serialize::OutputArchive inner;
    inner.write("name", c10::IValue(name));
    write(inner, layer);
    archive.write("layer" + std::to_string(index++), inner);
  }
}

/// Reads it back: `read(inner)` makes one layer.
template <typename Layer, typename Read>
void load_layers(torch::serialize::InputArchive& archive,
                 std::map<std::string, Layer>& layers,
                 Read read) {
  layers.clear();
  torch::Tensor count;
  archive.read("layers", count);
  for (int64_t index = 0; index < count.item<int64_t>(); ++index) {
    torch::serialize::InputArchive inner;
    archive.read("layer" + std::to_string(index), inner);
    c10::IValue name;
    inner.read("name", name);
    layers.emplace(name.toStringRef(), read(inner));
  }
}

/// A tensor by name. LibTorch keeps the type of a defined tensor that it reads into, so each is
/// fresh.
inline torch::Tensor read_tensor(torch::serialize::InputArchive& archive, const std::string& name) {
  torch::Tensor tensor;
  archive.read(name, tensor);
  return tensor;
}

}  // namespace kappascope::probes
