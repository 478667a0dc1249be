// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/layer_names.h"

#include <algorithm>
#include <iterator>

namespace kappascope::reports {
namespace {

/// As many letters from the front as all have in common.
template <typename Names>
std::size_t common(const Names& names) {
  auto count = std::ranges::distance(names.front());
  for (const auto& name : names) {
    const auto end = std::ranges::mismatch(names.front(), name).in1;
    count = std::min(count, std::ranges::distance(std::ranges::begin(names.front()), end));
  }
  return static_cast<std::size_t>(count);
}

}  // namespace

LayerNames::LayerNames(const std::vector<Arm>& arms) : LayerNames(measured_layers(arms)) {}

LayerNames::LayerNames(const std::vector<std::string>& layers) {
  if (layers.size() < 2) return;
  const std::string& first = layers.front();
  std::vector<std::string> reversed = layers;
  for (auto& name : reversed) std::ranges::reverse(name);
  // Whole words: "a.10" and "a.11" have "a." in common.
  const auto front = first.substr(0, common(layers));
  if (const auto last = front.rfind('.'); last != std::string::npos && last > 0) {
    const auto word = front.rfind('.', last - 1);
    before_ = word == std::string::npos ? "" : front.substr(0, word + 1);
  }
  const auto back = first.substr(first.size() - common(reversed));
  if (const auto dot = back.find('.'); dot != std::string::npos) after_ = back.substr(dot);
}

std::string LayerNames::operator()(const std::string& layer) const {
  const bool known = layer.size() > before_.size() + after_.size() && layer.starts_with(before_) &&
                     layer.ends_with(after_);
  return known ? layer.substr(before_.size(), layer.size() - before_.size() - after_.size())
               : layer;
}

}  // namespace kappascope::reports
