// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "kappascope/session/probe.h"
#include "kappascope/tensor/state.h"

namespace kappascope::session {

/// What work a window has with a layer: the square of its width, as sums of products of features
/// take.
double work_of(std::int64_t width);
double work_of(const LayerView& layer);

/// The layers that passed, in the order in which they first did, and the work with each.
class KnownLayers {
 public:
  struct Layer {
    std::string name;
    double work;
  };
  /// `widths`: of those that are to come.
  explicit KnownLayers(const std::vector<std::int64_t>& widths = {});
  void add(const std::string& name, double work);
  /// The work with all that are to come, and with the widest of them.
  [[nodiscard]] double presumed() const { return presumed_; }
  [[nodiscard]] double presumed_widest() const { return presumed_widest_; }
  [[nodiscard]] const std::vector<Layer>& all() const { return layers_; }

  /// On its way to process 0, and there.
  [[nodiscard]] tensor::State state() const;
  void add(const tensor::State& state);

 private:
  double presumed_ = 0, presumed_widest_ = 0;
  std::vector<Layer> layers_;
  std::set<std::string> names_;
};

}  // namespace kappascope::session
