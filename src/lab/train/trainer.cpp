// SPDX-License-Identifier: Apache-2.0
#include "lab/train/trainer.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/time.h"
#include "kappascope/core/error.h"
#include "lab/data/sampler.h"
#include "lab/train/batch_pass.h"
#include "lab/train/centring.h"
#include "lab/train/checkpoint/checkpoint.h"
#include "lab/train/share.h"
#include "lab/train/step_figures.h"
#include "tensor/random_states.h"

namespace kappascope::train {
namespace {

void set_learning_rate(torch::optim::Optimizer& optimizer, double rate) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(rate);
}

void update(Task& task) {
  task.optimizer->step();
  task.loss_scale.taken();
}

/// Whether it is so in one of the processes.
bool any_of(tensor::Group* group, bool here) {
  if (group == nullptr) return here;
  auto count = torch::full({1}, here ? 1 : 0, torch::kLong);
  group->add_up(count);
  return count.item<int64_t>() > 0;
}

void record_evaluation(Task& task, session::Session& session, int64_t share) {
  std::vector<store::Scalar> found;
  session.outside([&] { found = task.problem->evaluate(share); });
  for (auto& scalar : found) session.record(std::move(scalar));
}

TrainResult take_steps(Task& task, session::Session& session, const TrainOptions& options) {
  const auto& config = task.config;
  const auto run_dir = session.writes() ? session.run().dir() : std::filesystem::path();
  auto& problem = *task.problem;
  data::EpochSampler sampler(problem.rows(data::Split::kTrain), config.batch, config.seed);
  const auto eval_every =
      config.eval_every > 0 ? config.eval_every : std::max<int64_t>(1, task.steps / 20);
  const auto checkpoint_every = config.steps_between_checkpoints(task.steps);
  const int64_t first = session.next_step();
  const double start = monotonic_seconds();
  double told = start;
  TrainResult result{.state = "finished", .steps = first};

  auto* const group = session.group();
  const bool leads = group == nullptr || group->leads();
  const auto checkpoint = [&](int64_t taken) {
    session.flush();
    save_checkpoint(run_dir, taken, task, session);
    if (leads) prune_checkpoints(run_dir, config.keep_checkpoints);
  };
  // A power cut may have brought back one that was removed; one that is newer than that which is
  // gone on from is damaged, and stands for none.
  if (leads && first > 0) prune_checkpoints(run_dir, config.keep_checkpoints, first);
  const auto report_progress = [&](int64_t taken) {
    if (!options.on_progress) return;
    const double now = monotonic_seconds();
    if (now - told < 0.5 && taken < task.steps) return;
    told = now;
    // The first steps are the slowest by far (threads and caches start up): no promise before ten.
    double left = std::numeric_limits<double>::quiet_NaN();
    if (taken - first >= 10) {
      const double a_step = (now - start) / static_cast<double>(taken - first);
      left = a_step * static_cast<double>(task.steps - taken);
    }
    options.on_progress({taken, task.steps, result.loss, left, &session});
  };

  // The weights are drawn alike in all processes, what dropout leaves out is not.
  if (!leads && first == 0)
    tensor::draw_apart(task.model().parameters().at(0).device(), group->rank());
  StepFigures figures(problem);
  task.model().train();
  Centring centring(task, session);
  if (first == 0 && task.steps > 0) centring.begin(Share(sampler.indices(0), group).rows());
  for (int64_t step = first; step < task.steps; ++step) {
    const auto rate = learning_rate_at(config, step, task.steps);
    set_learning_rate(*task.optimizer, rate);
    figures.begin_step();
    task.optimizer->zero_grad();
    const auto rows = sampler.indices(step);
    const auto share = Share(rows, group).rows().numel();
    if (step + 1 < task.steps) problem.expect(Share(sampler.indices(step + 1), group).rows());
    result.loss = centring.watching([&] { return take_gradient(task, rows, session); });
    try {
      session.step(result.loss, rate, gradient_norm(task.model()));
    } catch (const Error&) {
      // The session has counted the step; the checkpoint in the copy is of it.
      if (session.is_rescued()) update(task);
      throw;
    }
    if (!std::isfinite(result.loss)) {
      // The weights are those that gave this loss: the update has not been made.
      result.state = "failed";
      // The sign of a NaN says nothing.
      const auto what = std::isnan(result.loss) ? "NaN" : fmt::format("{}", result.loss);
      result.message = fmt::format("the loss became {} at step {}", what, step);
      session.event("nan_loss", result.message, step);
      session.close("failed");
      save_checkpoint(run_dir, step, task, session);
      return result;
    }
    update(task);
    centring.follow();
    figures.end_step(share);
    result.steps = step + 1;
    if (leads && (result.steps % eval_every == 0 || result.steps == task.steps))
      record_evaluation(task, session, share);
    const auto alarm = std::ranges::find_if(session.alarms(), [&](const session::Alarm& raised) {
      return options.stop_on.contains(raised.id);
    });
    if (alarm != session.alarms().end()) result.alarm = alarm->id;
    const bool stop =
        any_of(group, result.alarm || (options.stop != nullptr && options.stop->load()));
    if (stop || result.steps % checkpoint_every == 0 || result.steps == task.steps)
      checkpoint(result.steps);
    report_progress(result.steps);
    if (stop && result.steps < task.steps) {
      result.state = "interrupted";
      result.message = fmt::format(
          "stopped after {} of {} steps{}",
          result.steps,
          task.steps,
          result.alarm ? fmt::format(" by the alarm {}", store::info_of(*result.alarm).name) : "");
      session.event("interrupted", result.message);
      break;
    }
  }
  if (leads && result.state == "finished") figures.record(session, first == 0);
  session.close(result.state);
  return result;
}

}  // namespace

TrainResult train(Task& task, session::Session& session, const TrainOptions& options) {
  try {
    return take_steps(task, session, options);
  } catch (const Error& error) {
    std::string why = error.what();
    // A checkpoint that cannot be written may be the first to meet a folder that is gone.
    if (!session.is_rescued()) {
      try {
        session.flush();
      } catch (const Error& found) {
        why = found.what();
      }
    }
    if (!session.is_rescued()) throw;
    const auto copy = session.run().dir();
    save_own_checkpoint(copy, session.next_step(), task, session);
    session.close("interrupted");
    throw Error(
        fmt::format("{}, with the weights after {} steps; continue with: kappascope train "
                    "--resume '{}'",
                    why,
                    session.next_step(),
                    copy.string()));
  }
}

}  // namespace kappascope::train
