// SPDX-License-Identifier: Apache-2.0
#include "session/alarms/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/require.h"
#include "kappascope/store/schema/layer_probes.h"

namespace kappascope::session {
namespace {

namespace id = store::id;

class SharpnessRule final : public Rule {
 public:
  explicit SharpnessRule(const SharpnessOptions& options)
      : Rule(store::AlarmId::kSharpness, 1), options_(options) {
    require(options.measurements >= 1, "an alarm of sharpness needs a measurement");
  }
  void evaluate(const store::Snapshot& snapshot,
                const std::deque<Alarm>& /*before*/,
                std::vector<Alarm>& out) override {
    const auto* seen = find(snapshot, id::kPreconditionedLambda);
    const auto* limit = find(snapshot, id::kStabilityLimit);
    if (seen == nullptr || limit == nullptr || !is_resolved(*seen)) return;
    above_ = side_of(*seen, limit->value) == Side::kAbove ? above_ + 1 : 0;
    if (above_ != options_.measurements) return;
    out.push_back(
        {id(),
         snapshot.step,
         "",
         fmt::format("the sharpness that the optimiser sees was above its stability limit in {} "
                     "measurements, {:.4g} against {:.4g} in the last; training often stays there, "
                     "at the edge of stability",
                     above_,
                     seen->value,
                     limit->value)});
  }
  [[nodiscard]] Memory memory() const override { return {{"", {static_cast<double>(above_)}}}; }
  void load(const Memory& memory) override {
    Rule::load(memory);
    const auto found = memory.find("");
    require(found != memory.end(), "an alarm's memory of the sharpness is missing");
    above_ = static_cast<int>(found->second.front());
  }

 private:
  SharpnessOptions options_;
  int above_ = 0;  // measurements in a row
};

class GradientNormRule final : public Rule {
 public:
  explicit GradientNormRule(const GradientNormOptions& options)
      : Rule(store::AlarmId::kGradientNorm, 0), detector_(options) {}
  void evaluate(const store::Snapshot& snapshot,
                const std::deque<Alarm>& /*before*/,
                std::vector<Alarm>& out) override {
    const auto* norm = find(snapshot, id::kGradientNorm);
    if (norm == nullptr || !detector_.add(norm->value)) return;
    out.push_back({id(),
                   snapshot.step,
                   "",
                   fmt::format("the norm of the gradient is {:.4g}, {:.3g} times its median of the "
                               "steps before and far above all of them",
                               norm->value,
                               norm->value / detector_.usual())});
  }
  [[nodiscard]] Memory memory() const override { return {{"", detector_.state()}}; }
  void load(const Memory& memory) override {
    const auto found = memory.find("");
    require(found != memory.end(), "an alarm's memory of the gradient is missing");
    detector_.load(found->second);
  }

 private:
  SurgeDetector detector_;
};

class GradientNoiseRule final : public Rule {
 public:
  explicit GradientNoiseRule(const GradientNoiseOptions& options)
      : Rule(store::AlarmId::kGradientNoise, 1), options_(options) {}
  void evaluate(const store::Snapshot& snapshot,
                const std::deque<Alarm>& /*before*/,
                std::vector<Alarm>& out) override {
    for (const auto& scalar : snapshot.scalars) {
      if (!(id::kCriticalBatch == scalar.name) || !scalar.lower || !(scalar.n > 0)) continue;
      const double ratio = *scalar.lower / *scalar.n;
      auto& raised = memory_[scalar.layer];  // whether it is noisy now
      if (raised.empty()) raised = {0};
      const bool noisy = ratio > options_.factor;
      if (noisy && raised.front() == 0) {
        out.push_back(
            {id(),
             snapshot.step,
             scalar.layer,
             std::isfinite(ratio)
                 ? fmt::format("the noise of the gradient of W_d is as large as its mean at a "
                               "batch of {:.3g} rows or more, {:.3g} times the step's {:.3g}: a "
                               "larger batch, or a lower rate, averages it out",
                               *scalar.lower,
                               ratio,
                               *scalar.n)
                 : fmt::format("the mean of the gradient of W_d does not differ significantly "
                               "from zero in the step's {:.3g} rows: a larger batch, or a lower "
                               "rate, averages the noise out",
                               *scalar.n)});
      }
      raised.front() = noisy ? 1 : 0;
    }
  }

 private:
  GradientNoiseOptions options_;
};

/// A number of features that should be zero.
class CountRule final : public Rule {
 public:
  CountRule(store::AlarmId id, store::SeriesId series, const char* what, CountOptions options)
      : Rule(id, 1), series_(series), what_(what), options_(options) {}
  void evaluate(const store::Snapshot& snapshot,
                const std::deque<Alarm>& /*before*/,
                std::vector<Alarm>& out) override {
    for (const auto& scalar : snapshot.scalars) {
      if (!(series_ == scalar.name)) continue;
      auto& most = memory_[scalar.layer];  // so far
      if (most.empty()) most = {0};
      if (!(scalar.value > most.front()) || scalar.value < options_.least) continue;
      out.push_back(
          {id(),
           snapshot.step,
           scalar.layer,
           fmt::format("{:.0f} features {}, {:.0f} before", scalar.value, what_, most.front())});
      most.front() = scalar.value;
    }
  }

 private:
  store::SeriesId series_;
  const char* what_;
  CountOptions options_;
};

}  // namespace

void Rule::load(const Memory& memory) {
  for (const auto& [layer, numbers] : memory)
    require(numbers.size() == numbers_, "an alarm's memory of '{}' is damaged", layer);
  memory_ = memory;
}

const store::Scalar* find(const store::Snapshot& snapshot,
                          const std::string& name,
                          const std::string& layer) {
  const auto found = std::ranges::find_if(snapshot.scalars, [&](const store::Scalar& scalar) {
    return scalar.name == name && scalar.layer == layer;
  });
  return found == snapshot.scalars.end() ? nullptr : &*found;
}

std::vector<std::unique_ptr<Rule>> rules_of(const AlarmOptions& options) {
  using store::AlarmId;
  std::vector<std::unique_ptr<Rule>> rules;
  const auto add = [&](std::unique_ptr<Rule> rule) { rules.push_back(std::move(rule)); };
  if (options.kappa) {
    // At b = 0 it is κ(Σ+μμᵀ).
    add(change_rule(AlarmId::kKappa, id::kKappaWithBias, "κ of the W_d block", *options.kappa));
  }
  if (options.effective_rank) {
    add(change_rule(AlarmId::kEffectiveRank,
                    id::kEffectiveRank,
                    "the effective rank of the features",
                    *options.effective_rank));
  }
  if (options.sharpness) add(std::make_unique<SharpnessRule>(*options.sharpness));
  if (options.gradient_norm) add(std::make_unique<GradientNormRule>(*options.gradient_norm));
  if (options.gradient_noise) add(std::make_unique<GradientNoiseRule>(*options.gradient_noise));
  if (options.dead_units) {
    add(std::make_unique<CountRule>(
        AlarmId::kDeadUnits, id::kDeadFeatures, "are identically zero", *options.dead_units));
  }
  if (options.bfloat16) {
    add(std::make_unique<CountRule>(AlarmId::kBfloat16,
                                    id::kOutsideBfloat16,
                                    "lie outside of what bfloat16 can hold",
                                    *options.bfloat16));
  }
  if (options.non_finite) add(non_finite_rule());
  return rules;
}

}  // namespace kappascope::session
