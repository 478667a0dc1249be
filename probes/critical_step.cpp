// SPDX-License-Identifier: Apache-2.0
#include "probes/critical_step.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <utility>

#include "probes/scalars.h"
#include "session/failures.h"

namespace kappascope::probes {
namespace {

namespace id = store::id;

bool any_moved(const curvature::NamedParameters& parameters,
               const std::vector<at::Tensor>& before) {
  for (std::size_t i = 0; i < before.size(); ++i)
    if (!torch::equal(parameters[i].second, before[i])) return true;
  return false;
}

}  // namespace

void CriticalStep::observe(const session::StepView& /*view*/) {
  if (!before_.empty()) return;
  const torch::NoGradGuard no_grad;
  for (const auto& [name, parameter] : parameters_()) before_.push_back(parameter.detach().clone());
}

void CriticalStep::emit(store::Snapshot& out) {
  measure(nullptr, out);
}

void CriticalStep::emit_with(tensor::Group& group, double /*seconds*/, store::Snapshot& out) {
  store::Snapshot unsaid;  // all find the same, and process 0 says it
  measure(&group, group.leads() ? out : unsaid);
}

void CriticalStep::measure(tensor::Group* group, store::Snapshot& out) {
  const auto before = std::exchange(before_, {});
  session::Failures failures;
  curvature::NamedParameters parameters;
  // A process whose window began later, or whose parameters did not move, has no step.
  bool ready = false;
  failures.attempt("", [&] {
    parameters = parameters_();
    ready = before.size() == parameters.size() && any_moved(parameters, before);
  });
  failures.attempt("", [&] {
    if (group != nullptr) {
      auto all = torch::full({1}, ready ? 1 : 0, torch::kLong);
      group->add_up(all);
      ready = all.item<int64_t>() == group->size();
    }
    if (!ready) return;
    constexpr double kNearby = 1.6;  // what a window changes
    curvature::CriticalStepOptions options{.group = group};
    if (last_ > 0) {
      options.guess = last_;
      options.growth = kNearby;
    }
    const auto found = curvature::critical_step(loss_, parameters, before, options);
    last_ = std::isfinite(found.value) ? found.value : 0;
    add_scalar(out, id::kCriticalStep, "", found.value, found.lower, found.upper);
    auto& scalar = out.scalars.back();
    scalar.n = found.evaluations;
    scalar.status = found.status == curvature::CriticalStepStatus::kResolved
                        ? store::Status::kResolved
                        : store::Status::kNotResolvable;
  });
  failures.report(name(), out);
}

tensor::State CriticalStep::state() const {
  tensor::State out;  // a window that was interrupted is left out
  out.set("last", last_);
  return out;
}

void CriticalStep::load(const tensor::State& state) {
  before_.clear();
  last_ = state.number("last");
}

}  // namespace kappascope::probes
