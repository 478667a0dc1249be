// SPDX-License-Identifier: Apache-2.0
#include "probes/critical_step.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <string>
#include <utility>

#include "probes/scalars.h"
#include "session/failures.h"

namespace kappascope::probes {
namespace {

namespace id = store::id;

/// Whether the parameters, which the flat `before` was taken of, have moved since.
bool have_moved(const curvature::NamedParameters& parameters,
                const std::vector<at::Tensor>& before) {
  bool moved = false;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto now = parameters[i].second.detach().flatten();
    if (now.sizes() != before[i].sizes()) return false;
    moved = moved || !torch::equal(now, before[i].to(now.options()));
  }
  return moved;
}

/// The name of one of a state's tensors.
std::string name_of(std::size_t i) {
  return "before" + std::to_string(i);
}

}  // namespace

void CriticalStep::observe(const session::StepView& /*view*/) {
  if (!before_.empty()) return;
  const torch::NoGradGuard no_grad;
  for (const auto& [name, parameter] : parameters_())
    before_.push_back(parameter.detach().flatten().clone());
}

void CriticalStep::emit(store::Snapshot& out) {
  measure(nullptr, out);
}

void CriticalStep::emit_with(tensor::Group& group, double /*seconds*/, store::Snapshot& out) {
  store::Snapshot unsaid;  // all find the same, and process 0 says it
  measure(&group, group.leads() ? out : unsaid);
}

void CriticalStep::measure(tensor::Group* group, store::Snapshot& out) {
  auto before = std::exchange(before_, {});
  session::Failures failures;
  curvature::NamedParameters parameters;
  // A process whose window began later, or whose parameters did not move, has no step.
  bool ready = false;
  failures.attempt("", [&] {
    parameters = parameters_();
    ready = before.size() == parameters.size() && have_moved(parameters, before);
  });
  failures.attempt("", [&] {
    if (group != nullptr) {
      auto all = torch::full({1}, ready ? 1 : 0, torch::kLong);
      group->add_up(all);
      ready = all.item<int64_t>() == group->size();
    }
    if (!ready) return;
    for (std::size_t i = 0; i < before.size(); ++i)
      before[i] = before[i].view(parameters[i].second.sizes());
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
  tensor::State out;
  out.set("last", last_);
  out.set("count", static_cast<std::int64_t>(before_.size()));
  for (std::size_t i = 0; i < before_.size(); ++i) out.set(name_of(i), before_[i]);
  return out;
}

void CriticalStep::load(const tensor::State& state) {
  before_.clear();
  last_ = state.number("last");
  const auto count = state.integer("count");
  for (std::int64_t i = 0; i < count; ++i)
    before_.push_back(state.floating_tensor(name_of(static_cast<std::size_t>(i)), {-1}));
}

}  // namespace kappascope::probes
