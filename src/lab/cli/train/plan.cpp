// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/train/plan.h"

#include <fmt/format.h>

#include "cli/json_line.h"
#include "cli/say.h"
#include "core/memory.h"
#include "core/printable.h"
#include "kappascope/core/error.h"
#include "kappascope/linalg/lanczos.h"

namespace kappascope::cli {

train::Plan plan_of(const Settings& settings, const PlanRequest& request) {
  keep_freed_memory();  // the passes are timed as training takes them
  train::PlanOptions options;
  options.device = request.device;
  options.devices = request.devices;
  options.rows = request.rows;
  options.probes = settings.probes;
  options.kept_rows = settings.kept_rows;
  options.hessian_rows = settings.probes.hessian ? curvature_rows_of(settings) : 0;
  options.hessian_products = probes::HessianSpectrum::kFewestProducts;
  options.hessian_budget = settings.probes.budget / 2;
  options.hessian_vectors = linalg::LanczosOptions().max_basis;
  return train::make_plan(settings.train, options);
}

nlohmann::ordered_json time_or_null(double time) {
  return time > 0 ? nlohmann::ordered_json(time) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json to_json(const train::Plan& plan) {
  const auto& memory = plan.memory;
  return {{"parameters", plan.parameters},
          {"steps", plan.steps},
          {"tokens_per_step", plan.tokens_per_step},
          {"flop_per_step", plan.flop_per_step},
          {"memory",
           {{"total", memory.total()},
            {"weights", memory.weights},
            {"gradients", memory.gradients},
            {"optimizer", memory.optimizer},
            {"activations", memory.activations},
            {"workspace", memory.workspace},
            {"logits", memory.logits},
            {"probes", memory.probes}}},
          {"room", plan.room},
          {"rows_that_fit", plan.rows_that_fit},
          {"checkpoint_bytes", plan.checkpoint_bytes},
          {"checkpoint_peak", plan.checkpoint_peak},
          {"seconds_per_step", time_or_null(plan.seconds_per_step)},
          {"hours", time_or_null(plan.hours())},
          {"hessian_seconds", plan.hessian_seconds},
          {"basis", plan.basis},
          {"warnings", plan.warnings}};
}

void add_plan(po::options_description& options, PlanRequest& request) {
  options.add_options()("plan",
                        po::bool_switch(&request.asked),
                        "estimate memory, operations, disk and time without training")(
      "plan-device",
      po::value(&request.device)->value_name("NAME"),
      "plan the memory of this device: h200, h100, a100, l40s, rtx4090 or v100; its time is not "
      "known")("plan-devices",
               po::value(&request.devices)->value_name("N"),
               "number of these devices, among which a training splits its batch (not in a study)")(
      "plan-rows",
      po::value(&request.rows)->value_name("N"),
      "number of training rows, where the data are not on this machine");
}

bool asks_for_plan(const PlanRequest& request) {
  const PlanRequest plain;
  const bool alone =
      !request.asked && (request.device != plain.device || request.rows != plain.rows ||
                         request.devices != plain.devices);
  if (alone)
    throw UsageError(
        "--plan-device, --plan-devices and --plan-rows go with --plan, which is missing");
  if (request.devices > 1 && request.device.empty())
    throw UsageError("--plan-devices needs --plan-device, whose memory is planned");
  return request.asked;
}

void print_plan(const Settings& settings, const PlanRequest& request, bool as_json) {
  const auto plan = plan_of(settings, request);
  if (as_json) {
    print_json(to_json(plan));
  } else {
    say("{}", Lines{to_text(plan)});
  }
}

}  // namespace kappascope::cli
