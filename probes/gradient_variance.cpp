// SPDX-License-Identifier: Apache-2.0
#include "tensor/gradient_variance.h"

#include <torch/types.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "kappascope/core/statistics.h"
#include "probes/layer_probes.h"
#include "probes/layer_windows.h"
#include "probes/scalars.h"

namespace kappascope::probes {
namespace {

namespace id = store::id;

constexpr int kQuantities = 9;
constexpr std::array<store::SeriesId, kQuantities> kVarianceNames = {id::kVarianceMeasured,
                                                                     id::kVarianceDerived,
                                                                     id::kVariancePublished,
                                                                     id::kVarianceIndependence,
                                                                     id::kVarianceZeroMean,
                                                                     id::kVarianceBiasLearned,
                                                                     id::kVarianceBiasZero,
                                                                     id::kVarianceBiasMinusMean,
                                                                     id::kVarianceBiasMinimiser};

// [rows of all passes, width]; a single pass is not copied.
at::Tensor joined(const std::vector<const session::LayerView*>& passes,
                  at::Tensor session::LayerView::*member) {
  if (passes.size() == 1) return passes.front()->*member;
  std::vector<at::Tensor> parts;
  parts.reserve(passes.size());
  for (const auto* pass : passes) parts.push_back(pass->*member);
  return torch::cat(parts);
}

// [rows of all passes]; undefined where every row of every pass counts.
at::Tensor joined_masks(const std::vector<const session::LayerView*>& passes) {
  bool masked = false;
  std::vector<at::Tensor> parts;
  for (const auto* pass : passes) {
    masked = masked || pass->mask.defined();
    parts.push_back(
        pass->mask.defined()
            ? pass->mask
            : torch::ones({pass->features.size(0)}, pass->features.options().dtype(torch::kBool)));
  }
  return masked ? torch::cat(parts) : at::Tensor();
}

// Sums over the window's batches of each quantity and of its squared standard error.
struct VarianceLayer {
  std::array<double, kQuantities> values{}, variances{};
  int64_t batches = 0, rows = 0;
  double rows_of_step = 0;  // a mean; those of which no gradient was kept are among them

  VarianceLayer() = default;
  explicit VarianceLayer(const tensor::State& state)
      : batches(state.integer("batches")),
        // A state of version 0.1 has none; its window goes without a critical batch.
        rows(state.has("rows") ? state.integer("rows") : 0),
        rows_of_step(state.has("rows_of_step")
                         ? state.number("rows_of_step")
                         : static_cast<double>(rows) / static_cast<double>(batches)) {
    const auto read = [&](const char* name, auto& to) {
      const auto tensor = state.tensor(name, torch::kDouble, {static_cast<int64_t>(to.size())});
      std::copy_n(tensor.template const_data_ptr<double>(), to.size(), to.begin());
    };
    read("values", values);
    read("variances", variances);
  }

  [[nodiscard]] tensor::State state() const {
    tensor::State out;
    out.set("batches", batches);
    out.set("rows", rows);
    out.set("rows_of_step", rows_of_step);
    out.set("values", torch::tensor(at::ArrayRef<double>(values), torch::kDouble));
    out.set("variances", torch::tensor(at::ArrayRef<double>(variances), torch::kDouble));
    return out;
  }

  void merge(const VarianceLayer& other) {
    batches += other.batches;
    rows += other.rows;
    rows_of_step += other.rows_of_step;  // each process has its part of the step's rows
    for (int i = 0; i < kQuantities; ++i) {
      values[i] += other.values[i];
      variances[i] += other.variances[i];
    }
  }

  void write(const std::string& name, store::Snapshot& out) const {
    const double reach = normal_quantile(0.975);
    const auto n = static_cast<double>(batches);
    for (int i = 0; i < kQuantities; ++i) {
      const double value = values[i] / n;
      const double error = reach * std::sqrt(variances[i]) / n;
      add_scalar(out, kVarianceNames[i], name, value, value - error, value + error);
    }
    const auto mean = [&](store::SeriesId quantity) -> tensor::Measured {
      const auto i = static_cast<std::size_t>(std::ranges::find(kVarianceNames, quantity) -
                                              kVarianceNames.begin());
      return {values.at(i) / n, std::sqrt(variances.at(i)) / n};
    };
    const double rows_of_batch = static_cast<double>(rows) / n;
    // 97.5 % each, so 95 % of both.
    const auto batch = tensor::critical_batch(mean(id::kVarianceMeasured),
                                              mean(id::kVarianceZeroMean),
                                              rows_of_batch,
                                              normal_quantile(1 - 0.0125));
    add_scalar(out, id::kCriticalBatch, name, batch.value, batch.lower, batch.upper);
    out.scalars.back().n = rows_of_step;
  }
};

/// Averages of tensor::gradient_variance over the steps of a window, as gradvar/* per layer, with
/// 95 % intervals, and the critical batch that follows from them. Rows of one sequence are taken as
/// independent in it: where they are not it is too small.
class GradientVariance final : public LayerWindows<VarianceLayer> {
 public:
  [[nodiscard]] std::string_view name() const override { return "gradient_variance"; }
  [[nodiscard]] session::Needs needs() const override {
    return {.features = true, .output_gradients = true};
  }
  /// On one core of 2024: 0.04 s for 512 features.
  [[nodiscard]] double presumed_cost() const override { return 1.5e-7; }

  void observe(const session::StepView& view) override {
    // The passes of gradient accumulation are one batch; sequences of another length one beside it.
    std::map<std::tuple<std::string, int, int64_t, double>, std::vector<const session::LayerView*>>
        batches;
    for (const auto& seen : *view.layers) {
      if (!seen.gradient.defined()) continue;
      if (seen.mask.defined() && !seen.mask.any().item<bool>()) continue;
      batches[{seen.name, seen.use, seen.rows_per_group, seen.dropout}].push_back(&seen);
    }
    for (const auto& [key, passes] : batches)
      attempt(std::get<0>(key), [&, &of = passes] { add_passes(of); });
  }

 private:
  void add_passes(const std::vector<const session::LayerView*>& passes) {
    const auto& seen = *passes.front();
    const auto v = tensor::gradient_variance(joined(passes, &session::LayerView::features),
                                             joined(passes, &session::LayerView::gradient),
                                             seen.bias,
                                             seen.dropout,
                                             seen.rows_per_group,
                                             joined_masks(passes));
    const std::array<tensor::Measured, kQuantities> quantities = {v.measured,
                                                                  v.derived,
                                                                  v.published,
                                                                  v.independence,
                                                                  v.zero_mean,
                                                                  v.measured,
                                                                  v.b_zero,
                                                                  v.b_minus_mean,
                                                                  v.b_minimiser};
    auto& layer = layers().try_emplace(seen.name).first->second;
    ++layer.batches;
    layer.rows += v.rows;
    layer.rows_of_step += (static_cast<double>(seen.rows_of_step) - layer.rows_of_step) /
                          static_cast<double>(layer.batches);
    for (int i = 0; i < kQuantities; ++i) {
      layer.values[i] += quantities[i].value;
      layer.variances[i] += quantities[i].error * quantities[i].error;
    }
  }
};

}  // namespace

std::unique_ptr<session::Probe> make_gradient_variance(const ProbeOptions& /*options*/) {
  return std::make_unique<GradientVariance>();
}

}  // namespace kappascope::probes
