// SPDX-License-Identifier: Apache-2.0
#include "lab/train/plan/planned_memory.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "kappascope/session/probe.h"
#include "kappascope/store/schema/layer_probes.h"
#include "lab/train/optimizer.h"
#include "lab/train/precision.h"
#include "probes/layer_probes.h"

namespace kappascope::train {
namespace {

std::vector<std::unique_ptr<session::Probe>> probes_of(const probes::ProbeOptions& options) {
  std::vector<std::unique_ptr<session::Probe>> made;
  for (const auto& row : store::layer_probes()) {
    if (options.layer_probes[row.name]) made.push_back(probes::make_layer_probe(row.name, options));
  }
  return made;
}

/// In a window of the probes: what they hold, and features and gradients of the passes of a step.
/// Those of one pass are among its activations already.
double probe_bytes(const ModelCost& cost,
                   const TrainConfig& config,
                   const PlanOptions& options,
                   double share) {
  const auto probes = probes_of(options.probes);
  session::Needs needs;
  for (const auto& probe : probes) {
    needs.features = needs.features || probe->needs().features;
    needs.output_gradients = needs.output_gradients || probe->needs().output_gradients;
  }
  double bytes = 0;
  const int number = low_precision(config.precision) ? 2 : 4;
  const auto rows = static_cast<double>(config.batch) * share;
  for (const auto& layer : cost.layers) {
    const auto features = static_cast<double>(layer.features),
               outputs = static_cast<double>(layer.outputs);
    const double a_pass = static_cast<double>(std::min(config.batch, pass_of(config)) * layer.rows);
    double seen = rows * static_cast<double>(layer.rows);
    if (options.kept_rows > 0)
      seen = std::min(seen, a_pass + static_cast<double>(options.kept_rows));
    const auto of_window = static_cast<int64_t>(seen * static_cast<double>(options.probes.window));
    for (const auto& probe : probes)
      bytes += probe->presumed_memory(layer.features, of_window, number);
    if (config.micro_batch > 0 && needs.features) bytes += number * seen * features;
    if (needs.output_gradients) bytes += number * seen * outputs;
  }
  return bytes;
}

}  // namespace

int64_t pass_of(const TrainConfig& config) {
  return config.micro_batch > 0 ? config.micro_batch : config.batch;
}

PlannedMemory memory_of(const ModelCost& cost,
                        const TrainConfig& config,
                        const PlanOptions& options,
                        double rows) {
  const auto parameters = static_cast<double>(cost.parameters);
  PlannedMemory memory;
  memory.weights = 4 * parameters;
  memory.gradients = 4 * parameters;
  memory.optimizer = optimizer_bytes(config) * parameters;
  memory.activations = cost.activations.at(rows);
  memory.workspace = cost.workspace.at(rows);
  memory.logits = cost.logits.at(rows);
  memory.probes = probe_bytes(cost, config, options, 1.0 / options.devices);
  return memory;
}

int64_t rows_that_fit(const ModelCost& cost,
                      const TrainConfig& config,
                      const PlanOptions& options,
                      double room,
                      int64_t most) {
  const auto fits = [&](int64_t rows) {
    auto smaller = config;
    if (rows < most) (config.can_be_parted() ? smaller.micro_batch : smaller.batch) = rows;
    return memory_of(cost, smaller, options, static_cast<double>(rows)).total() <= room;
  };
  if (fits(most)) return most;
  int64_t fitting = 0, too_many = most;  // each takes more than the one before
  while (too_many - fitting > 1) {
    const auto middle = fitting + (too_many - fitting) / 2;
    (fits(middle) ? fitting : too_many) = middle;
  }
  return fitting;
}

}  // namespace kappascope::train
