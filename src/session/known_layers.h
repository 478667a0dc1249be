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
  /// `presumed`: the work with a layer, as long as none has passed.
  explicit KnownLayers(double presumed = 0) : presumed_(presumed) {}
  void add(const std::string& name, double work);
  [[nodiscard]] double presumed() const { return presumed_; }
  [[nodiscard]] const std::vector<Layer>& all() const { return layers_; }

  /// On its way to process 0, and there.
  [[nodiscard]] tensor::State state() const;
  void add(const tensor::State& state);

 private:
  double presumed_;
  std::vector<Layer> layers_;
  std::set<std::string> names_;
};

}  // namespace kappascope::session
