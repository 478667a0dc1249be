// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <torch/types.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/json_line.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "core/memory.h"
#include "core/notice.h"
#include "core/time.h"
#include "kappascope/core/error.h"
#include "kappascope/probes/attach.h"
#include "lab/cli/commands/commands.h"
#include "lab/cli/study/processes.h"
#include "lab/cli/train/curvature_task.h"
#include "lab/cli/train/request.h"
#include "lab/cli/train/run_folder.h"
#include "lab/cli/train/stop_request.h"
#include "lab/cli/train/usage.h"
#include "lab/data/module_tensors.h"
#include "lab/train/preconditioner.h"

namespace kappascope::cli {
namespace {

namespace fs = std::filesystem;

std::string progress_text(const std::string& label, const train::Progress& progress) {
  double worst = 0;
  for (const auto& scalar : progress.session->latest()) {
    if (scalar.name == store::id::kKappaSecondMoment && std::isfinite(scalar.value))
      worst = std::max(worst, scalar.value);
  }
  return fmt::format("{}: step {}/{}  loss {:.4f}{}{}",
                     label,
                     progress.step,
                     progress.steps,
                     progress.loss,
                     worst > 0 ? fmt::format("  worst kappa {:.3g}", worst) : "",
                     std::isfinite(progress.seconds_left)
                         ? fmt::format("  {} left", format_seconds(progress.seconds_left))
                         : "");
}

int exit_status(const train::TrainResult& result) {
  if (result.state == "interrupted") return 130;
  return result.state == "failed" ? 1 : 0;
}

int finish(const train::TrainResult& result, const fs::path& dir, bool json) {
  if (json) {
    const nlohmann::json out = {
        {"run", dir.string()},
        {"state", result.state},
        {"steps", result.steps},
        {"loss", std::isfinite(result.loss) ? nlohmann::json(result.loss) : nlohmann::json()},
        {"message", result.message},
        {"alarm",
         result.alarm ? nlohmann::json(store::info_of(*result.alarm).name) : nlohmann::json()}};
    print_json(out);
  } else {
    say("{}\n", dir.string());
  }
  if (result.state == "interrupted") {
    notice("kappascope: {}; continue with: kappascope train --resume '{}'\n",
           result.message,
           dir.string());
  }
  if (result.state == "failed") {
    notice(
        "kappascope: error: {}; the state before that update is saved in {}. `kappascope report "
        "'{}'` shows the condition numbers up to that step. A lower train.learning-rate or a "
        "warm-up usually helps\n",
        result.message,
        (dir / "checkpoints").string(),
        dir.string());
  }
  return exit_status(result);
}

/// What a process of a group has of the rows that the curvature is taken over: as many as the
/// others, so that the mean of their means is that of all.
at::Tensor own_rows(const at::Tensor& rows, tensor::Group* group) {
  if (group == nullptr) return rows;
  const auto each = rows.numel() / group->size();
  if (each == 0) {
    throw UsageError(fmt::format(
        "probes.hessian-rows is {}, too few for {} processes", rows.numel(), group->size()));
  }
  return rows.narrow(0, each * group->rank(), each);
}

/// The probes of the settings over the task. Both, and the line, must outlive them.
std::vector<session::ScheduledProbe> probes_of(Settings& settings,
                                               train::Task& task,
                                               tensor::Group* group,
                                               ProgressLine& line) {
  auto& options = settings.probes;
  const auto& label = settings.train.label;
  options.last_step = task.steps - 1;
  if (options.hessian)
    options.curvature_loss =
        curvature_loss(task, own_rows(first_rows(task, curvature_rows_of(settings)), group));
  options.spectrum.on_product = [&](int products) {
    line.show(fmt::format("{}: Hessian window, {} products", label, products));
    return !stop_is_overdue();
  };
  options.spectrum.on_set_up = [&](int evaluations) {
    line.show(fmt::format(
        "{}: Hessian window, setting up ({} evaluations of its loss)", label, evaluations));
    return !stop_is_overdue();
  };
  options.spectrum.preconditioner = [&](const curvature::NamedParameters& parameters) {
    return train::preconditioner(*task.optimizer, parameters);
  };
  return probes::standard_probes(task.model(), options);
}

/// What is about to be trained, and for how long.
void announce(const TrainRequest& request,
              const train::Task& task,
              int64_t first,
              ProgressLine& line) {
  const auto& train = request.settings.train;
  line.note(fmt::format("{}: {} steps of {} {}, writing {}; the time left is shown after ten steps",
                        train.label,
                        task.steps - first,
                        train.batch,
                        task.problem->unit(),
                        request.dir.string()));
  constexpr int64_t kFewSteps = 100;
  if (train.steps == 0 && task.steps < kFewSteps) {
    line.note(fmt::format(
        "{}: train.epochs = {} is all of {} steps; more epochs, train.steps or a smaller "
        "train.batch train longer",
        train.label,
        train.epochs,
        task.steps));
  }
}

train::TrainResult execute(TrainRequest& request,
                           const Arguments& arguments,
                           const std::shared_ptr<tensor::Group>& group,
                           ProgressLine& line) {
  auto& settings = request.settings;
  const auto& label = settings.train.label;
  std::optional<train::Checkpoint> checkpoint;
  if (request.resuming && (group == nullptr || group->leads())) warn_of_damage({request.dir});
  if (request.resuming) checkpoint = checkpoint_of(request.dir, group.get(), line);
  if (checkpoint) settings.train.init.clear();  // its weights are the run's, whatever they began as
  line.note(fmt::format("{}: reading {}", label, settings.train.data));
  auto task = train::make_task(settings.train);
  auto probes = probes_of(settings, task, group.get(), line);
  request.options.stop = &listen_for_stop();
  auto run = open_run(request, task, arguments, checkpoint ? checkpoint->step : 0, group.get());
  session::SessionOptions watching;
  watching.group = group;
  const int64_t processes = group == nullptr ? 1 : group->size();
  watching.rows = (settings.kept_rows + processes - 1) / processes;  // of this process's part
  watching.alarms.on_alarm = [&](const std::vector<session::Alarm>& raised) {
    line.note(fmt::format("{}: {}", label, session::in_words(raised)));
  };
  probes::TappedSession session(task.model(), std::move(run), std::move(probes), watching);
  if (checkpoint) {
    train::load_checkpoint(*checkpoint, task, session);
    line.note(fmt::format("resuming {} after {} steps", request.dir.string(), checkpoint->step));
    checkpoint.reset();
  } else if (request.resuming) {
    line.note(request.dir.string() + " has no checkpoint yet: starting at the first step");
  }
  announce(request, task, session.next_step(), line);
  request.options.on_progress = [&](const train::Progress& progress) {
    line.show(progress_text(label, progress), progress.step == progress.steps);
  };
  auto result = train::train(task, session, request.options);
  line.close();
  const bool leads = group == nullptr || group->leads();
  if (leads && result.state == "finished" && !request.save.empty())
    data::save_safetensors(task.model(), request.save);
  return result;
}

}  // namespace

int run_train(const Arguments& arguments) {
  return run_train_in(arguments, nullptr);
}

int run_train_in(const Arguments& arguments, const std::shared_ptr<tensor::Group>& group) {
  if (arguments.empty()) return nothing_to_train();
  end_with_parent();
  keep_freed_memory();
  auto request = read_train_request(arguments, group.get());
  if (!request) return 0;
  const bool leads = group == nullptr || group->leads();
  ProgressLine line(!leads);
  for (const auto& note : request->notes) line.note(note);
  if (asks_for_plan(request->plan)) {
    if (leads) print_plan(request->settings, request->plan, request->json);
    return 0;
  }
  const auto result = execute(*request, arguments, group, line);
  return leads ? finish(result, request->dir, request->json) : exit_status(result);
}

}  // namespace kappascope::cli
