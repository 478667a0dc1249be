// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace kappascope::session {

/// What is kept of the passes of layers in one step: of each layer a sample of the first kMost
/// passes. A pass that is in a graph counts once a backward pass came by. `View` has a `name`.
template <typename View>
class SampledPasses {
 public:
  static constexpr int kMost = 2;

  /// Keeps what `view()` gives, and gives its number; -1, without that call, where the layer has
  /// all of its passes. What it throws leaves nothing.
  template <typename Make>
  std::int64_t add(const std::string& name, const Make& view, bool in_graph) {
    auto& count = counts_[name];
    if (count >= kMost) return -1;
    kept_.push_back({.view = view(), .in_graph = in_graph, .complete = !in_graph});
    ++count;
    return first_ + std::ssize(kept_) - 1;
  }

  /// The backward pass came by. A number of an earlier step is ignored.
  void complete(std::int64_t number) {
    const auto place = number - first_;
    if (place >= 0 && place < std::ssize(kept_))
      kept_[static_cast<std::size_t>(place)].complete = true;
  }

  /// Those that count.
  [[nodiscard]] std::vector<View> views() const {
    std::vector<View> views;
    for (const auto& kept : kept_)
      if (kept.complete) views.push_back(kept.view);
    return views;
  }

  /// Those that a backward pass came by count no longer, unless another one does, and make room.
  void discard_gradients() {
    for (auto& kept : kept_) {
      if (!kept.in_graph || !kept.complete) continue;
      kept.complete = false;
      --counts_.at(kept.view.name);
    }
  }

  /// A step ended.
  void clear() {
    first_ += std::ssize(kept_);
    kept_.clear();
    counts_.clear();
  }

  [[nodiscard]] bool empty() const { return kept_.empty(); }

 private:
  struct Kept {
    View view;
    bool in_graph = true, complete = false;
  };
  std::vector<Kept> kept_;  // by their number less first_
  std::map<std::string, int> counts_;
  std::int64_t first_ = 0;
};

}  // namespace kappascope::session
