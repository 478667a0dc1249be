// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "kappascope/curvature/critical_step.h"
#include "kappascope/session/probe.h"

namespace kappascope::probes {

/// How much longer the optimiser's last step could have been before the loss on a fixed batch rises
/// (curvature/critical_step.h): step/critical, for the model. Evaluates its own loss, which must be
/// deterministic. A window is two steps: the parameters before the update between them are kept
/// from the first. A step that changed nothing (a scaler skipped it) leaves nothing, and a failure
/// becomes the event "probe_failed". Cost: four to eight forward passes of that loss, as the search
/// begins where the last one ended; the parameters once more between the two steps, and three times
/// while it measures. In a group the loss is the mean of the processes'.
class CriticalStep final : public session::Probe {
 public:
  static constexpr int kWindow = 2;

  CriticalStep(curvature::LossFunction loss, std::function<curvature::NamedParameters()> parameters)
      : loss_(std::move(loss)), parameters_(std::move(parameters)) {}

  [[nodiscard]] std::string_view name() const override { return "critical_step"; }
  [[nodiscard]] session::Needs needs() const override { return {}; }
  void observe(const session::StepView& view) override;
  void emit(store::Snapshot& out) override;
  void emit_with(tensor::Group& group, double seconds, store::Snapshot& out) override;
  [[nodiscard]] tensor::State state() const override;
  void load(const tensor::State& state) override;

 private:
  void measure(tensor::Group* group, store::Snapshot& out);

  curvature::LossFunction loss_;
  std::function<curvature::NamedParameters()> parameters_;
  std::vector<at::Tensor> before_;  // flat, of the step that this window began before
  double last_ = 0;                 // what the last window found; 0: nothing yet
};

}  // namespace kappascope::probes
