// SPDX-License-Identifier: Apache-2.0
#include "lab/train/batch_pass.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <optional>
#include <string>

#include "kappascope/core/error.h"
#include "kappascope/session/session.h"
#include "lab/train/gradient_sums.h"
#include "lab/train/optimizer.h"
#include "lab/train/share.h"
#include "session/passes.h"
#include "tensor/autocast.h"

namespace kappascope::train {
namespace {

bool is_out_of_memory(const c10::Error& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) return true;
  // The host's allocator has no type of error of its own.
  return std::string(error.what_without_backtrace()).find("allocate memory") != std::string::npos;
}

/// How many forward and backward passes it takes.
std::int64_t passes_of(const at::Tensor& rows, const PassOptions& options) {
  if (options.micro_batch == 0) return 1;
  return (rows.numel() + options.micro_batch - 1) / options.micro_batch;
}

/// The mean loss over the rows of all processes.
double mean_of_all(double loss, const Share& share, tensor::Group* group) {
  if (group == nullptr) return loss;
  auto sum = torch::full({1}, loss * share.of_all(), torch::kDouble);
  group->add_up(sum);
  return sum.item<double>();
}

/// The loss, or why there was no memory for it.
struct Attempt {
  std::optional<double> loss;
  std::string why;
};

Attempt attempt(Problem& problem, const at::Tensor& rows, const PassOptions& options) {
  try {
    return {add_gradients(problem, rows, options), ""};
  } catch (const std::bad_alloc& error) {
    return {{}, error.what()};
  } catch (const c10::Error& error) {
    if (!is_out_of_memory(error)) throw;
    return {{}, error.what_without_backtrace()};
  }
}

/// Forgets what the passes of this step left.
void begin_anew(Problem& problem, session::Session& session) {
  session.passes()->clear();
  problem.model().zero_grad();
}

/// What to change where there is no room for one row, or a batch has no parts.
std::string what_takes_less(const TrainConfig& config) {
  std::string text;
  if (!config.recompute && config.can_recompute()) text += "train.recompute = true, ";
  if (config.logit_rows == 0 && config.kind == "language") text += "train.logit-rows = 256, ";
  if (!config.can_be_parted()) text += "a smaller train.batch, ";
  return text.empty() ? "a smaller model is needed" : text + "or a smaller model takes less";
}

/// What passes that fit before the first step do not show.
std::string what_is_to_come(const Task& task) {
  double parameters = 0;
  for (const auto& one : task.model().parameters()) parameters += static_cast<double>(one.numel());
  const double bytes = optimizer_bytes(task.config) * parameters;
  if (bytes == 0 || !task.optimizer->state().empty()) return "";
  return fmt::format("; {} takes {:.3g} GiB more from the first step on",
                     task.config.optimizer,
                     bytes / (1024.0 * 1024 * 1024));
}

[[noreturn]] void say_what_fits(Task& task,
                                const at::Tensor& rows,
                                PassOptions options,
                                session::Session& session,
                                const std::string& why) {
  auto& problem = *task.problem;
  const auto all = rows.numel();
  const auto asked = options.micro_batch > 0 ? std::min(options.micro_batch, all) : all;
  const bool has_parts = task.config.can_be_parted();
  bool fits = false;
  for (options.micro_batch = asked / 2; has_parts && options.micro_batch >= 1;
       options.micro_batch /= 2) {
    begin_anew(problem, session);
    fits = attempt(problem, rows, options).loss.has_value();
    if (fits) break;
  }
  begin_anew(problem, session);
  std::string advice = what_takes_less(task.config);
  if (fits) {
    advice = fmt::format("passes of {0} do: start the run with train.micro-batch = {0}{1}",
                         options.micro_batch,
                         what_is_to_come(task));
  } else if (has_parts) {
    advice = fmt::format("not even one of the {} does: {}", problem.unit(), advice);
  }
  throw Error(fmt::format(
      "a pass of {} {} does not fit into memory ({}); {}", asked, problem.unit(), why, advice));
}

}  // namespace

double add_gradients(Problem& problem, const at::Tensor& rows, const PassOptions& options) {
  const auto loss_of = [&](const at::Tensor& some) {
    const auto parameters = problem.model().parameters();
    const auto device = parameters.empty() ? torch::kCPU : parameters.front().device().type();
    const tensor::Autocast cast(device, options.autocast);
    return problem.mean_loss(data::Split::kTrain, some);
  };
  if (passes_of(rows, options) == 1) {
    const auto loss = loss_of(rows);
    (options.scale == 1 ? loss : loss * options.scale).backward();
    return loss.item<double>();
  }
  const auto all = rows.numel();
  double sum = 0;
  for (const auto& some : rows.split(options.micro_batch)) {
    const double share = static_cast<double>(some.numel()) / static_cast<double>(all);
    const auto part = loss_of(some);
    (part * (share * options.scale)).backward();
    sum += share * part.item<double>();
  }
  return sum;
}

double gradient_norm(const torch::nn::Module& model) {
  // The host sums floats one after another, which is 0.4 % off at 50 million.
  constexpr int64_t kPiece = 1 << 18;
  std::vector<at::Tensor> gradients;
  for (const auto& parameter : model.parameters()) {
    const auto& gradient = parameter.grad();
    if (!gradient.defined()) continue;
    for (auto& piece : gradient.flatten().split(kPiece)) gradients.push_back(std::move(piece));
  }
  if (gradients.empty()) return 0;
  const auto norms = torch::stack(at::_foreach_norm(gradients)).to(torch::kDouble);
  return torch::linalg_vector_norm(norms).item<double>();
}

double take_gradient(Task& task, const at::Tensor& rows, session::Session& session) {
  auto& problem = *task.problem;
  auto* const group = session.group();
  const auto parameters = problem.model().parameters();
  const Share share(rows, group);
  PassOptions options{task.config.micro_batch, low_precision(task.config.precision)};
  for (;;) {
    options.scale = task.loss_scale.value() * share.of_all();
    std::optional<GradientSums> sums;
    if (group != nullptr) sums.emplace(parameters, passes_of(share.rows(), options), *group);
    const auto found = attempt(problem, share.rows(), options);
    if (!found.loss) sums.reset();
    if (!found.loss) say_what_fits(task, share.rows(), options, session, found.why);
    session.passes()->loss_was_scaled_by(options.scale);
    if (sums) sums->finish();
    const double loss = mean_of_all(*found.loss, share, group);
    const bool finite = task.loss_scale.unscale(parameters);
    if (finite || !std::isfinite(loss) || !task.loss_scale.lower()) return loss;
    begin_anew(problem, session);
  }
}

}  // namespace kappascope::train
