// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kappascope/store/run.h"
#include "kappascope/tensor/attention.h"
#include "kappascope/tensor/group.h"
#include "kappascope/tensor/routing.h"
#include "kappascope/tensor/state.h"

namespace kappascope::session {

/// What a probe observes in a step, declared before the step.
struct Needs {
  bool features = false;          ///< phi of every tapped down-projection
  bool output_gradients = false;  ///< the loss's gradient at every down-projection's output
  bool attention = false;         ///< what enters the softmax of every attention layer
  bool gates = false;             ///< what enters the activation of every gate, beside phi
  bool routers = false;           ///< the logits of every router of a mixture of experts
};

/// One pass of one tapped down-projection in this step. All tensors are detached, on the model's
/// device, and must not be changed. Gradient accumulation gives several of these a layer, which
/// together are the step's rows.
struct LayerView {
  std::string name;     ///< the module's dotted name
  at::Tensor features;  ///< phi: [tokens, d_ff]
  at::Tensor bias;      ///< b: [d_ff]; undefined without post-gating bias
  at::Tensor gradient;  ///< gamma: [tokens, d_model], of the loss *of one token* (scaled back);
                        ///< undefined when not asked for
  at::Tensor mask;      ///< [tokens] bool: rows that count; undefined: all (padding does not)
  double dropout = 0;   ///< probability with which features were zeroed (inverted dropout)
  int64_t rows_per_group = 1;  ///< tokens of one sequence follow each other and are dependent
  int use = 0;                 ///< counts the uses of a layer in one forward pass (shared weights)
  at::Tensor weight = {};      ///< W_d: [d_model, d_ff]; undefined where the front end does not say
  /// W_gate and W_up: [d_ff, d_model], a row a feature; undefined where the front end does not say,
  /// or the layer has no gate. The weights are the model's own, of the moment of the pass.
  at::Tensor gate = {}, up = {};
  int64_t branch = 0;        ///< so many features, the last, come of a branch beside the gated path
  int64_t rows_of_step = 0;  ///< that count, in all passes of this process, kept or not
  /// What enters the activation of the gate, [sequences, tokens, d_ff] of some of the rows, and
  /// which of these count: [sequences, tokens] bool, undefined: all. Undefined where the front end
  /// does not see it, and where nobody asks for it.
  at::Tensor gate_inputs = {}, gate_mask = {};
};

/// One pass of one attention layer in this step.
struct AttentionView {
  std::string name;         ///< the module's dotted name
  tensor::Attention input;  ///< of some of its sequences and queries
};

/// One pass of one router of a mixture of experts in this step.
struct RouterView {
  std::string name;       ///< the module's dotted name
  tensor::Routing input;  ///< of some of its tokens
};

/// A step between the backward pass and the optimiser's update.
struct StepView {
  int64_t step = 0;
  const std::vector<LayerView>* layers = nullptr;
  const std::vector<AttentionView>* attentions = nullptr;  ///< null: the front end sees none
  const std::vector<RouterView>* routers = nullptr;        ///< null: likewise
};

/// Turns steps into numbers. A probe never changes training (values, gradients, random state),
/// writes no file, and does not know its schedule: `observe` is called on the steps of its
/// window, `emit` at the end of it, after which a new window begins.
class Probe {
 public:
  virtual ~Probe() = default;
  /// Key of its cost in the run store.
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual Needs needs() const = 0;
  virtual void observe(const StepView& view) = 0;
  /// Adds what the window showed to `out` and starts a new window.
  virtual void emit(store::Snapshot& out) = 0;
  /// The same within `seconds`, what the budget leaves: a probe that can choose how much it
  /// computes computes less, and what it leaves out becomes an event.
  virtual void emit_within(double /*seconds*/, store::Snapshot& out) { emit(out); }
  /// The same where each process of a group observed its part of every step; called in each of
  /// them, and what they add comes together in process 0. A probe that does not know of groups
  /// measures the part of process 0.
  virtual void emit_with(tensor::Group& group, double seconds, store::Snapshot& out);
  /// What the next window needs at least, in seconds; 0: the probe cannot tell, and the last
  /// window is what the budget goes by.
  [[nodiscard]] virtual double least_seconds() const { return 0; }
  /// Seconds that a window is presumed to take on two cores of 2024 for a layer of one feature,
  /// before one was timed; it grows as the square of their number. -1: nothing is known.
  [[nodiscard]] virtual double presumed_cost() const { return -1; }
  /// Whether most of that is done where the features are; else on the host.
  [[nodiscard]] virtual bool works_on_device() const { return true; }
  /// Bytes that a window of so many rows is presumed to hold of a layer of so many features, each
  /// of `bytes`, beside the rows of a step that it needs.
  [[nodiscard]] virtual double presumed_memory(std::int64_t /*features*/,
                                               std::int64_t /*rows*/,
                                               int /*bytes*/) const {
    return 0;
  }
  /// The accumulators, so that a resumed run gives the same bits as an uninterrupted one.
  [[nodiscard]] virtual tensor::State state() const = 0;
  /// Takes them over. Throws Error where the state is not one of such a probe, and may then be left
  /// without a window.
  virtual void load(const tensor::State& state) = 0;
};

}  // namespace kappascope::session
