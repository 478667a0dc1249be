// SPDX-License-Identifier: Apache-2.0
#include "lab/train/plan/plan.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/memory.h"
#include "core/time.h"
#include "kappascope/core/error.h"
#include "kappascope/session/schedule.h"
#include "lab/data/tokens.h"
#include "lab/train/optimizer.h"
#include "lab/train/plan/model_cost.h"
#include "lab/train/plan/planned_memory.h"
#include "lab/train/precision.h"
#include "lab/train/problems/problems.h"

namespace kappascope::train {
namespace {

constexpr double kGibibyte = 1024.0 * 1024 * 1024;

/// What the data say, or what stands for them.
struct Input {
  int64_t rows = 0;  ///< 0: not known
  int64_t vocabulary = 0, classes = 0;
  data::ImageShape shape;
};

/// The documents' images, where they are not here.
Input assumed(const TrainConfig& config) {
  Input input;
  input.vocabulary = config.vocabulary > 0 ? config.vocabulary : 256;
  input.classes = 10;
  const auto side = config.image_size > 0 ? config.image_size : 32;
  input.shape = {3, side, side};
  return input;
}

Input input_of(const TrainConfig& config, const PlanOptions& options, Plan& plan) {
  auto input = assumed(config);
  if (std::filesystem::exists(config.data)) {
    if (config.kind == "language") {
      const data::TokenSource source(
          config.data,
          data::Split::kTrain,
          {.length = config.context, .vocabulary = config.vocabulary, .bits = config.token_bits});
      input.rows = source.size();
      input.vocabulary = source.vocabulary();
    } else {
      const auto source = data::open_images(config.data, data::Split::kTrain, {config.image_size});
      const auto rows = config.rows > 0 ? std::min(config.rows, source->size()) : source->size();
      input = {rows, 0, std::max<int64_t>(source->classes(), 1), source->shape()};
    }
  } else {
    plan.warnings.push_back(fmt::format("the data ({}) are not here", config.data));
  }
  if (options.rows > 0) input.rows = options.rows;
  if (input.rows > 0 && config.batch > input.rows) {
    throw UsageError(fmt::format(
        "train.batch is {}, but there are only {} training rows", config.batch, input.rows));
  }
  return input;
}

int64_t steps_of(const TrainConfig& config, int64_t rows) {
  if (config.steps == 0 && rows == 0) {
    throw UsageError(fmt::format(
        "train.epochs is a number of steps only with the data, and {} is not here: say with "
        "--plan-rows how many training rows there are",
        config.data));
  }
  return config.steps_with(rows);
}

/// A loss before and with its graph, whose gradient is made in it, and products of two gradients
/// each; two more are taken to time one.
double hessian_seconds(const ModelCost& cost, const PlanOptions& options, double pace) {
  const double gradients = 2 + 2 * (2 + options.hessian_products);
  return gradients * static_cast<double>(options.hessian_rows) * cost.flop / pace;
}

double timed_step(const ModelCost& cost, double flop, Plan& plan) {
  std::array<double, 3> seconds{};
  for (double& one : seconds) {
    const double begin = monotonic_seconds();
    cost.sample();
    one = monotonic_seconds() - begin;
  }
  std::sort(seconds.begin(), seconds.end());
  const double pace = cost.sample_flop / seconds[1];
  plan.basis = fmt::format("three passes of {:.3g} GFLOP here: {:.3g} GFLOP/s on {} threads",
                           cost.sample_flop / 1e9,
                           pace / 1e9,
                           at::get_num_threads());
  return flop / pace;
}

/// What the budget gives the first window, in seconds.
double first_hessian_window(const PlanOptions& options, const Plan& plan) {
  return session::Budget(options.hessian_budget).allowance(0, 3600 * plan.hours());
}

void warn(const ModelCost& cost,
          const TrainConfig& config,
          const PlanOptions& options,
          int64_t rows,
          Plan& plan) {
  auto& warnings = plan.warnings;
  if (plan.room > 0 && plan.memory.total() > plan.room) {
    auto text = fmt::format("a step takes {:.3g} GiB, and there are {:.3g} GiB",
                            plan.memory.total() / kGibibyte,
                            plan.room / kGibibyte);
    if (plan.rows_that_fit > 0 && plan.rows_that_fit < rows) {
      text += config.can_be_parted()
                  ? fmt::format(": train.micro-batch = {} fits", plan.rows_that_fit)
                  : fmt::format(": train.batch = {} fits", plan.rows_that_fit);
    } else if (plan.rows_that_fit == 0) {
      text += ": not even a pass of one row fits";
    }
    if (!config.recompute && config.can_recompute()) text += "; train.recompute = true takes less";
    warnings.push_back(std::move(text));
  }
  const double in_pieces = cost.logits_in_pieces.at(static_cast<double>(rows));
  if (config.logit_rows == 0 && plan.memory.logits > 0.2 * plan.memory.total() &&
      in_pieces < plan.memory.logits) {
    warnings.push_back(
        fmt::format("logits take {:.3g} GiB: train.logit-rows = {} makes it {:.3g} "
                    "GiB",
                    plan.memory.logits / kGibibyte,
                    kLogitRows,
                    in_pieces / kGibibyte));
  }
  if (options.hessian_rows > 0) {
    warnings.push_back(
        fmt::format("a Hessian window takes memory besides: the graph of {} rows, and up to {} "
                    "vectors of {:.3g} GiB, as many as fit into a third of what is free",
                    options.hessian_rows,
                    options.hessian_vectors,
                    4 * static_cast<double>(cost.parameters) / kGibibyte));
    const double allowed = first_hessian_window(options, plan);
    if (plan.hessian_seconds > allowed) {
      warnings.push_back(fmt::format(
          "no spectrum: a Hessian window takes {:.2g} s at least, and the budget leaves "
          "{:.2g} s for the first; probes.hessian-rows = {} or probes.budget = {:.2g} "
          "give one",
          plan.hessian_seconds,
          allowed,
          std::max<int64_t>(1,
                            static_cast<int64_t>(static_cast<double>(options.hessian_rows) *
                                                 allowed / plan.hessian_seconds)),
          4 * plan.hessian_seconds / (3600 * plan.hours())));
    }
  }
  std::error_code unknown;
  const auto space = std::filesystem::space(".", unknown);
  if (!unknown && plan.checkpoint_peak > static_cast<double>(space.available)) {
    warnings.push_back(fmt::format("checkpoints take {:.3g} GiB, and the disk has {:.3g} GiB free",
                                   plan.checkpoint_peak / kGibibyte,
                                   static_cast<double>(space.available) / kGibibyte));
  }
  constexpr double kMonth = 30 * 24;
  if (plan.hours() > kMonth)
    warnings.push_back(fmt::format("that is {:.3g} months", plan.hours() / kMonth));
}

}  // namespace

Plan make_plan(const TrainConfig& config, const PlanOptions& options) {
  config.validate();
  if (options.devices < 1) throw UsageError("--plan-devices must be at least 1");
  config.require_shared_by(options.devices);
  const bool here = options.device.empty();
  if (config.threads > 0) at::set_num_threads(config.threads);
  Plan plan;
  const auto input = input_of(config, options, plan);
  plan.steps = steps_of(config, input.rows);
  const auto share = (config.batch + options.devices - 1) / options.devices;
  const auto rows = std::min(pass_of(config), share);
  const auto cost = config.kind == "language" ? language_cost(config, input.vocabulary)
                    : config.kind == "vit-vae"
                        ? vae_cost(config, input.shape)
                        : classifier_cost(config, input.shape.size(), input.classes, rows);
  plan.parameters = cost.parameters;
  plan.tokens_per_step = config.batch * cost.tokens;
  plan.flop_per_step = static_cast<double>(config.batch) * cost.flop;
  plan.memory = memory_of(cost, config, options, static_cast<double>(rows));
  plan.room =
      here ? static_cast<double>(available_memory().value_or(0)) : device_memory(options.device);
  if (plan.room > 0) plan.rows_that_fit = rows_that_fit(cost, config, options, plan.room, rows);
  const double checkpoint = (4 + optimizer_bytes(config)) * static_cast<double>(cost.parameters);
  const auto every = config.steps_between_checkpoints(plan.steps);
  const auto written = (plan.steps + every - 1) / every;  // the last step has one in any case
  const auto kept =
      config.keep_checkpoints == 0 ? written : std::min(written, config.keep_checkpoints);
  plan.checkpoint_bytes = static_cast<double>(kept) * checkpoint;
  plan.checkpoint_peak = plan.checkpoint_bytes + checkpoint;
  if (here && config.device != "cpu") {
    plan.warnings.push_back(fmt::format(
        "memory and time are those of this machine's processor, and the run asks for {}: name the "
        "device with --plan-device",
        config.device));
  }
  const double flop = static_cast<double>(config.batch) * (cost.flop + cost.flop_again);
  if (here) {
    plan.seconds_per_step = timed_step(cost, flop, plan);
  } else {
    plan.basis = fmt::format("not known: no {} is here to be timed", options.device);
  }
  if (options.hessian_rows > 0 && plan.seconds_per_step > 0)
    plan.hessian_seconds = hessian_seconds(cost, options, flop / plan.seconds_per_step);
  warn(cost, config, options, rows, plan);
  return plan;
}

std::string to_text(const Plan& plan) {
  std::string text;
  const auto line = [&](const char* what, const std::string& value) {
    text += fmt::format("{:<24}{}\n", what, value);
  };
  const auto gibibytes = [](double bytes) { return fmt::format("{:9.3f} GiB", bytes / kGibibyte); };
  line("parameters", fmt::format("{:.4g} million", static_cast<double>(plan.parameters) / 1e6));
  line("steps", fmt::format("{} of {} tokens or images", plan.steps, plan.tokens_per_step));
  line("operations of a step", fmt::format("{:.4g} TFLOP", plan.flop_per_step / 1e12));
  const auto& memory = plan.memory;
  line("memory at the peak", gibibytes(memory.total()));
  for (const auto& [what, bytes] : {std::pair{"  weights", memory.weights},
                                    std::pair{"  gradients", memory.gradients},
                                    std::pair{"  optimiser", memory.optimizer},
                                    std::pair{"  activations", memory.activations},
                                    std::pair{"  blocks, backward", memory.workspace},
                                    std::pair{"  or logits, if more", memory.logits},
                                    std::pair{"  probes in a window", memory.probes}}) {
    if (bytes > 0) line(what, gibibytes(bytes));
  }
  if (plan.room > 0) line("memory there is", gibibytes(plan.room));
  line("checkpoints", gibibytes(plan.checkpoint_bytes));
  line("  as one is written", gibibytes(plan.checkpoint_peak));
  line("time",
       plan.seconds_per_step == 0
           ? plan.basis
           : fmt::format("{:.3g} h of steps, without evaluations and probes ({})",
                         plan.hours(),
                         plan.basis));
  if (plan.hessian_seconds > 0)
    line("  a spectrum, at least", fmt::format("{:.2g} s", plan.hessian_seconds));
  for (const auto& warning : plan.warnings) line("warning", warning);
  return text;
}

}  // namespace kappascope::train
