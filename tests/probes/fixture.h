// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/temporary_folder.h"
#include "kappascope/session/probe.h"
#include "probes/layer_probes.h"
#include "tensor/safetensors/state_file.h"

namespace kappascope::testing {

/// One layer's view of a step.
inline session::LayerView view_of(const at::Tensor& phi,
                                  const at::Tensor& bias = {},
                                  const at::Tensor& gamma = {}) {
  session::LayerView view;
  view.name = "layer";
  view.features = phi;
  view.bias = bias;
  view.gradient = gamma;
  return view;
}

inline void observe(session::Probe& probe, const session::LayerView& layer, int64_t step = 0) {
  const std::vector<session::LayerView> layers = {layer};
  probe.observe({.step = step, .layers = &layers});
}

/// What the probe's window showed.
inline store::Snapshot emitted(session::Probe& probe) {
  store::Snapshot out;
  probe.emit(out);
  return out;
}

inline const store::Scalar* find(const store::Snapshot& snapshot, const std::string& name) {
  for (const auto& scalar : snapshot.scalars) {
    if (scalar.name == name) return &scalar;
  }
  return nullptr;
}

inline double value(const store::Snapshot& snapshot, const std::string& name) {
  const auto* scalar = find(snapshot, name);
  return scalar == nullptr ? std::numeric_limits<double>::quiet_NaN() : scalar->value;
}

/// Saves `probe` and loads it into `other`, through a file.
inline void carry_over(const session::Probe& probe, session::Probe& other) {
  const TemporaryFolder folder;
  tensor::write_state(folder / "state", probe.state());
  other.load(tensor::read_state(folder / "state"));
}

}  // namespace kappascope::testing
