// SPDX-License-Identifier: Apache-2.0
#include "session/known_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace kappascope::session {

double work_of(std::int64_t width) {
  return static_cast<double>(width) * static_cast<double>(width);
}

double work_of(const LayerView& layer) {
  return work_of(layer.features.size(-1));
}

KnownLayers::KnownLayers(const std::vector<std::int64_t>& widths) {
  for (const auto width : widths) {
    presumed_ += work_of(width);
    presumed_widest_ = std::max(presumed_widest_, work_of(width));
  }
}

void KnownLayers::add(const std::string& name, double work) {
  if (names_.insert(name).second) layers_.push_back({name, work});
}

tensor::State KnownLayers::state() const {
  tensor::State out;
  out.set("count", std::ssize(layers_));
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    out.set(fmt::format("name {}", i), layers_[i].name);
    out.set(fmt::format("work {}", i), layers_[i].work);
  }
  return out;
}

void KnownLayers::add(const tensor::State& state) {
  for (std::int64_t i = 0; i < state.integer("count"); ++i)
    add(state.text(fmt::format("name {}", i)), state.number(fmt::format("work {}", i)));
}

}  // namespace kappascope::session
