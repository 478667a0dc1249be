// SPDX-License-Identifier: Apache-2.0
#include "lab/study/metrics.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "kappascope/store/record.h"
#include "kappascope/store/schema/layer_probes.h"
#include "kappascope/store/schema/schema.h"

namespace kappascope::study {
namespace {

namespace id = store::id;

constexpr std::string_view kLoss = id::kLossTrain.name();
constexpr std::string_view kEdge = id::kPreconditionedLambda.name();

constexpr std::array<DerivedMetric, 15> kDerived = {{
    {metric::kLossVariance,
     "half the mean squared change of the training loss from step to step, in the second half of "
     "the run: its variance where it has no trend",
     kLoss},
    {metric::kSpikesCount, "spikes of the training loss", kLoss},
    {metric::kSpikesFirst, "the step at which the first spike began", kLoss},
    {metric::kSpikesSteps, "steps in spikes, all together", kLoss},
    {metric::kSpikesShare, "the share of the steps that lie in spikes", kLoss},
    {metric::kSpikesLength, "the mean length of a spike in steps", kLoss},
    {metric::kSpikesHeight, "the largest peak over the usual value", kLoss},
    {metric::kSpikesKappa,
     "κ(Σ) at the first measurement from the begin of a spike on over the last before it, both "
     "within 50 steps of it: median over spikes of the median over layers",
     id::kKappaSigma.name()},
    {metric::kSpikesEffectiveRank,
     "the same of the effective rank of Σ",
     id::kEffectiveRank.name()},
    {metric::kExplosionsShare,
     "the share of the steps whose gradient norm is over 3 times the median of the 50 before",
     id::kGradientNorm.name()},
    {metric::kExplosionsLargest,
     "the largest gradient norm of the first 50 steps",
     id::kGradientNorm.name()},
    {metric::kEdgeStart,
     "the sharpness that the optimiser sees over its stability limit, at the first measurement",
     kEdge},
    {metric::kEdgeFirst, "the step at which that is at least 1", kEdge},
    {metric::kEdgeShare, "its median from there on", kEdge},
    {metric::kEdgeWithin, "the share of measurements from there on within a fifth of 1", kEdge},
}};

}  // namespace

std::span<const DerivedMetric> derived_metrics() {
  return kDerived;
}

const DerivedMetric* find_derived_metric(std::string_view name) {
  const auto* const found =
      std::ranges::find_if(kDerived, [&](const auto& derived) { return derived.id == name; });
  return found == kDerived.end() ? nullptr : found;
}

std::string basis_of(const std::string& metric) {
  const auto* derived = find_derived_metric(metric);
  return derived != nullptr ? std::string(derived->basis) : metric.substr(0, metric.find('@'));
}

bool is_metric(const std::string& name) {
  if (find_derived_metric(name) != nullptr) return true;
  const auto over_steps = store::median_over_steps("");
  const auto series =
      name.ends_with(over_steps) ? name.substr(0, name.size() - over_steps.size()) : name;
  if (id::kUser.contains(series)) return true;
  const auto* info = store::find_series(series);
  // A pattern of names, as hessian/lambda_K, is the name of none.
  return info != nullptr &&
         std::ranges::none_of(series, [](unsigned char c) { return std::isupper(c) != 0; });
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  names.reserve(kDerived.size() + 2 * store::schema().size());
  for (const auto& derived : kDerived) names.emplace_back(derived.id);
  for (const auto& info : store::schema()) {
    if (info.array) continue;
    names.push_back(info.name);
    names.push_back(store::median_over_steps(info.name));
  }
  return names;
}

}  // namespace kappascope::study
