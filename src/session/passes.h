// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kappascope/session/probe.h"
#include "kappascope/session/session.h"
#include "session/sampled_passes.h"
#include "tensor/gates.h"

namespace kappascope::session {

/// One forward pass of one watched down-projection, as a front end sees it.
struct Pass {
  std::string layer;
  at::Tensor features;  ///< phi: [..., d_ff]; of three dimensions and more, the last but one counts
                        ///< the tokens of a sequence
  at::Tensor bias;      ///< b: [d_ff]; undefined without post-gating bias
  double dropout = 0;   ///< probability with which features were zeroed in this pass
  at::Tensor mask =
      {};  ///< bool, a number for each row of phi: whether it counts; undefined: all do
  /// A backward pass will come by. Where none came by the end of the step, the pass was none of
  /// training (an evaluation with gradients) and is forgotten.
  bool in_graph = true;
  at::Tensor weight = {};   ///< W_d: [d_model, d_ff]; undefined where the front end does not say
  std::int64_t branch = 0;  ///< as LayerView::branch
  at::Tensor gate = {}, up = {};  ///< W_gate and W_up: [d_ff, d_model], as LayerView has them
  at::Tensor gate_inputs = {};  ///< of phi's shape, of which a sample is kept; undefined: not seen
};

/// What passes the watched layers in one step, over all of its forward and backward passes. A front
/// end shares it with the hooks that it leaves in a graph, which may outlive a session.
class Passes {
 public:
  /// `rows`: passes of gradient accumulation are kept until a layer has so many rows in this step;
  /// the later ones are counted alone. 0: all are kept.
  explicit Passes(std::int64_t rows = 0) : limit_(rows) {}
  /// Counts a forward pass and returns its number. Cost: two searches, whatever passed before.
  std::int64_t forward(Pass pass);
  /// The backward pass came by; `gradient` of the loss at the layer's output, [..., d_model], or
  /// undefined where nobody asked for it. A pass of an earlier step is ignored.
  void backward(std::int64_t number, const at::Tensor& gradient);
  /// Keeps a sample of a pass of an attention layer, and gives its number; of each layer the first
  /// two of a step, -1 for the others. `in_graph`: as Pass::in_graph, and attended() is its
  /// backward(). Throws Error where the tensors do not fit.
  std::int64_t attend(const std::string& layer, const tensor::Attention& input, bool in_graph);
  void attended(std::int64_t number) { attentions_.complete(number); }
  /// The same of a router.
  std::int64_t route(const std::string& router, const tensor::RouterPass& pass, bool in_graph);
  void routed(std::int64_t number) { routers_.complete(number); }
  /// Nothing passed since the last step.
  [[nodiscard]] bool empty() const {
    return passes_.empty() && attentions_.empty() && routers_.empty();
  }
  /// The gradients of the backward passes so far were thrown away: the passes count for nothing,
  /// unless another backward pass comes by.
  void discard_gradients();
  /// Forgets what passed since the last step.
  void clear();
  /// The loss of the step was multiplied by this before its backward passes.
  void loss_was_scaled_by(double factor) { scale_ = factor; }
  /// The step's views, gradients scaled back to one row; forgets them. `terms`: how many terms the
  /// step's loss is a mean over; 0: the rows that count.
  [[nodiscard]] std::vector<LayerView> take(LossReduction reduction, double terms = 0);
  /// The step's attention and routers; to be called before take(), which forgets them.
  [[nodiscard]] std::vector<AttentionView> attentions() const { return attentions_.views(); }
  [[nodiscard]] std::vector<RouterView> routers() const { return routers_.views(); }

 private:
  struct Seen {
    Pass pass;
    at::Tensor gradient;
    bool complete = false;  // the backward pass came by
    int use = 0;            // of the layer, in this pass of the model
    std::int64_t all = 0;   // rows of it, whether they count or not
    bool kept = true;
    tensor::GateInputs gates = {};

    [[nodiscard]] std::int64_t rows() const;  // that count
  };
  struct Layer {
    std::int64_t last = -1;            // the number of its last pass
    std::map<int, std::int64_t> rows;  // that are kept, by use
  };
  std::int64_t limit_;
  SampledPasses<AttentionView> attentions_;
  SampledPasses<RouterView> routers_;
  std::map<std::int64_t, Seen> passes_;  // by their number
  std::map<std::string, Layer> layers_;  // that passed in this step
  std::int64_t next_ = 0;
  double scale_ = 1;
};

}  // namespace kappascope::session
