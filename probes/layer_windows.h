// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "kappascope/session/probe.h"
#include "kappascope/store/run.h"
#include "kappascope/tensor/group.h"
#include "kappascope/tensor/state.h"
#include "session/failures.h"
#include "tensor/state_bytes.h"

namespace kappascope::probes {

/// A probe whose window holds a `Layer` of each layer that it saw. The derived class has the name,
/// the needs and the costs, and adds passes (`add_pass`, or its own `observe`); `Layer` has the
/// rest:
///   Layer(const tensor::State&)     what state() gave; throws Error where it is none
///   tensor::State state() const     what is saved, and what a process sends to another
///   void merge(const Layer&)        adds what another process saw; without it, override emit_with
///   void write(const std::string& name, store::Snapshot& out)  what the window shows of it
/// A layer that fails at any of them falls away from its window, in all processes, with an event;
/// the others are measured as if nothing had been.
template <typename Layer>
class LayerWindows : public session::Probe {
 public:
  void observe(const session::StepView& view) override {
    for (const auto& layer : *view.layers) attempt(layer.name, [&] { add_pass(view.step, layer); });
  }

  void emit(store::Snapshot& out) override {
    // A layer goes before the next one needs room.
    for (; !layers_.empty(); layers_.erase(layers_.begin())) {
      const auto& name = layers_.begin()->first;
      auto& layer = layers_.begin()->second;
      store::Snapshot written;
      if (failures_.attempt(name, [&] { layer.write(name, written); }))
        store::append(std::move(written), out);
    }
    failures_.report(name(), out);
  }

  void emit_with(tensor::Group& group, double /*seconds*/, store::Snapshot& out) override {
    if constexpr (requires(Layer sum, const Layer& layer) { sum.merge(layer); }) share(group);
    emit(out);
  }

  [[nodiscard]] tensor::State state() const final {
    tensor::State out;
    out.set("layers", static_cast<std::int64_t>(layers_.size()));
    std::int64_t index = 0;
    for (const auto& [name, layer] : layers_) {
      tensor::State inner = layer.state();
      inner.set("name", name);
      out.set("layer" + std::to_string(index++), inner);
    }
    return out;
  }

  void load(const tensor::State& state) final {
    failures_ = {};
    layers_.clear();
    const auto count = state.integer("layers");
    for (std::int64_t index = 0; index < count; ++index) {
      const auto inner = state.inner("layer" + std::to_string(index));
      layers_.emplace(inner.text("name"), read(inner));
    }
  }

 protected:
  /// Adds a pass to the layer of that name; called by observe().
  virtual void add_pass(std::int64_t /*step*/, const session::LayerView& /*view*/) {}
  [[nodiscard]] virtual Layer read(const tensor::State& state) const { return Layer(state); }

  /// Adds to what the window holds of a layer. Where that fails, the layer is let go of.
  template <typename Add>
  void attempt(const std::string& name, const Add& add) {
    if (!failures_.contains(name) && !failures_.attempt(name, add)) layers_.erase(name);
  }
  /// By name.
  std::map<std::string, Layer>& layers() { return layers_; }

 private:
  // What the processes of a group hold of each layer, added up in the one that the layer falls to;
  // the others let go of it. In the order of the processes, so that the same parts give the same
  // bits.
  void share(tensor::Group& group) {
    const std::string failed = "failed";  // no state is so short
    for (const auto& name : failures_.in_any(group)) layers_.erase(name);
    std::set<std::string> mine;
    for (const auto& [name, layer] : layers_) mine.insert(name);
    int owner = 0;
    for (const auto& name : group.all_names(mine)) {
      // Taken out, so that a layer that fails is let go of.
      auto held = layers_.extract(name);
      if (owner != group.rank()) {
        std::string bytes;
        if (held &&
            !failures_.attempt(name, [&] { bytes = tensor::to_bytes(held.mapped().state()); }))
          bytes = failed;
        group.send_bytes(bytes, owner);
      } else {
        std::map<std::string, Layer> sum;
        bool whole = true;
        const auto add = [&](Layer layer) {
          if (const auto there = sum.find(name); there != sum.end()) {
            there->second.merge(layer);
          } else {
            sum.emplace(name, std::move(layer));
          }
        };
        for (int from = 0; from < group.size(); ++from) {
          // What the others send is taken in any case: they wait.
          failures_.attempt(name, [&] {
            if (from == group.rank()) {
              if (held) add(std::move(held.mapped()));
              return;
            }
            const auto bytes = group.receive_bytes(from);
            whole = whole && bytes != failed;
            if (!bytes.empty() && whole && !failures_.contains(name))
              add(read(tensor::from_bytes(bytes)));
          });
        }
        if (whole && !failures_.contains(name)) layers_.merge(sum);
      }
      owner = (owner + 1) % group.size();
    }
  }

  std::map<std::string, Layer> layers_;
  session::Failures failures_;  // of this window
};

/// The larger of both, NaN where one is; `before` may be undefined.
inline at::Tensor larger(const at::Tensor& before, const at::Tensor& now) {
  return before.defined() ? torch::maximum(before.to(now.options()), now) : now;
}

}  // namespace kappascope::probes
