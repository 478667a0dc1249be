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

/// Whether probes keep anything of the next step's passes.
bool sees_passes(const session::Needs& needs) {
  return needs.features || needs.output_gradients || needs.attention || needs.gates ||
         needs.routers;
}

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

/// Tells how far a training is, twice a second at most.
class ProgressReport {
 public:
  ProgressReport(const TrainOptions& options,
                 const session::Session& session,
                 int64_t first,
                 int64_t all)
      : options_(options), session_(session), first_(first), all_(all) {}

  void report(int64_t taken, double loss) {
    if (!options_.on_progress) return;
    const double now = monotonic_seconds();
    if (now - told_ < 0.5 && taken < all_) return;
    told_ = now;
    // The first steps are the slowest by far (threads and caches start up): no promise before ten.
    double left = std::numeric_limits<double>::quiet_NaN();
    if (taken - first_ >= 10) {
      const double a_step = (now - start_) / static_cast<double>(taken - first_);
      left = a_step * static_cast<double>(all_ - taken);
    }
    options_.on_progress({taken, all_, loss, left, &session_});
  }

 private:
  const TrainOptions& options_;
  const session::Session& session_;
  int64_t first_, all_;
  double start_ = monotonic_seconds(), told_ = start_;
};

/// The checkpoints of a run, of which the newest are kept.
class Checkpoints {
 public:
  Checkpoints(const Task& task, session::Session& session)
      : task_(task),
        session_(session),
        dir_(session.writes() ? session.run().dir() : std::filesystem::path()),
        leads_(session.group() == nullptr || session.group()->leads()),
        every_(task.config.steps_between_checkpoints(task.steps)) {
    // A power cut may have brought back one that was removed; one that is newer than that which is
    // gone on from is damaged, and stands for none.
    if (leads_ && session.next_step() > 0)
      prune_checkpoints(dir_, task.config.keep_checkpoints, session.next_step());
  }

  [[nodiscard]] bool is_due(int64_t taken) const {
    return taken % every_ == 0 || taken == task_.steps;
  }
  void save(int64_t taken) const {
    session_.flush();
    save_checkpoint(dir_, taken, task_, session_);
    if (leads_) prune_checkpoints(dir_, task_.config.keep_checkpoints);
  }
  /// Of weights whose loss is not finite; the older ones stay.
  void save_failed(int64_t taken) const { save_checkpoint(dir_, taken, task_, session_); }

 private:
  const Task& task_;
  session::Session& session_;
  std::filesystem::path dir_;
  bool leads_;
  int64_t every_;
};

/// Ends a training whose loss is not finite. The weights are those that gave this loss: the update
/// has not been made.
void fail(TrainResult& result, session::Session& session, int64_t step) {
  result.state = "failed";
  // The sign of a NaN says nothing.
  const auto what = std::isnan(result.loss) ? "NaN" : fmt::format("{}", result.loss);
  result.message = fmt::format("the loss became {} at step {}", what, step);
  session.event("nan_loss", result.message, step);
  session.close("failed");
}

void interrupt(TrainResult& result, session::Session& session, int64_t steps) {
  result.state = "interrupted";
  result.message = fmt::format(
      "stopped after {} of {} steps{}",
      result.steps,
      steps,
      result.alarm ? fmt::format(" by the alarm {}", store::info_of(*result.alarm).name) : "");
  session.event("interrupted", result.message);
}

std::optional<store::AlarmId> stopping_alarm(const session::Session& session,
                                             const TrainOptions& options) {
  for (const auto& raised : session.alarms())
    if (options.stop_on.contains(raised.id)) return raised.id;
  return std::nullopt;
}

TrainResult take_steps(Task& task, session::Session& session, const TrainOptions& options) {
  const auto& config = task.config;
  auto& problem = *task.problem;
  auto* const group = session.group();
  const bool leads = group == nullptr || group->leads();
  const int64_t first = session.next_step();
  const auto eval_every =
      config.eval_every > 0 ? config.eval_every : std::max<int64_t>(1, task.steps / 20);
  TrainResult result{.state = "finished", .steps = first};
  data::EpochSampler sampler(problem.rows(data::Split::kTrain), config.batch, config.seed);
  const Checkpoints checkpoints(task, session);
  ProgressReport progress(options, session, first, task.steps);

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
    figures.begin_step(sees_passes(session.needs()));
    task.optimizer->zero_grad();
    const auto rows = sampler.indices(step);
    const auto share = Share(rows, group).rows().numel();
    if (step + 1 < task.steps) problem.expect(Share(sampler.indices(step + 1), group).rows());
    result.loss = centring.watching([&] { return take_gradient(task, rows, session); });
    figures.begin_probing();
    try {
      session.step(result.loss, rate, gradient_norm(task.model()));
    } catch (const Error&) {
      // The session has counted the step; the checkpoint in the copy is of it.
      if (session.is_rescued()) update(task);
      throw;
    }
    figures.end_probing();
    if (!std::isfinite(result.loss)) {
      fail(result, session, step);
      checkpoints.save_failed(step);
      return result;
    }
    update(task);
    centring.follow();
    figures.end_step(share);
    result.steps = step + 1;
    if (leads && (result.steps % eval_every == 0 || result.steps == task.steps))
      record_evaluation(task, session, share);
    result.alarm = stopping_alarm(session, options);
    const bool stop =
        any_of(group, result.alarm || (options.stop != nullptr && options.stop->load()));
    if (stop || checkpoints.is_due(result.steps)) checkpoints.save(result.steps);
    progress.report(result.steps, result.loss);
    if (stop && result.steps < task.steps) {
      interrupt(result, session, task.steps);
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
