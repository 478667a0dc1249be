// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "cli/json_line.h"
#include "cli/progress.h"
#include "cli/say.h"
#include "core/memory.h"
#include "core/notice.h"
#include "core/own_files.h"
#include "core/require.h"
#include "core/time.h"
#include "lab/cli/commands/commands.h"
#include "lab/cli/settings.h"
#include "lab/cli/study/processes.h"
#include "lab/cli/train/alarm_names.h"
#include "lab/cli/train/curvature_task.h"
#include "lab/cli/train/stop_request.h"
#include "lab/cli/train/usage.h"
#include "lab/data/module_tensors.h"
#include "lab/data/tokens.h"
#include "lab/train/checkpoint/checkpoint.h"
#include "lab/train/preconditioner.h"
#include "lab/train/trainer.h"

namespace kappascope::cli {
namespace {

namespace fs = std::filesystem;
using Group = std::shared_ptr<tensor::Group>;

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

store::Facts facts_of(const Settings& settings,
                      const train::Task& task,
                      const Arguments& arguments,
                      const Group& group) {
  auto facts = probes::standard_facts(task.model());
  if (group != nullptr) facts.push_back({"processes", std::to_string(group->size())});
  facts.insert(facts.end(),
               {{"label", settings.train.label},
                {"condition", settings.condition},
                {"config", to_ini(settings)},
                {"model", train::model_in_words(settings.train)},
                {"optimizer", train::optimizer_in_words(settings.train)},
                {"loss", settings.train.kind == "mlp" ? settings.train.loss : settings.train.kind},
                {"data",
                 fmt::format("{} ({} training, {} test {})",
                             settings.train.data,
                             task.problem->rows(data::Split::kTrain),
                             task.problem->rows(data::Split::kTest),
                             task.problem->unit())},
                {"precision", train::precision_in_words(settings.train.precision)},
                {"seed", std::to_string(settings.train.seed)},
                {"steps", std::to_string(task.steps)},
                {"command", fmt::format("kappascope train {}", fmt::join(arguments, " "))}});
  return facts;
}

/// Writes "2, 4 from step 100" to the facts where a resumed run goes on in another number of
/// processes.
void note_processes(store::RunWriter& run, const fs::path& dir, const Group& group, int64_t taken) {
  const auto now = std::to_string(group == nullptr ? 1 : group->size());
  const auto told = store::RunReader(dir).fact("processes", "1");
  const auto comma = told.rfind(", ");
  const auto last = comma == std::string::npos ? told : told.substr(comma + 2);
  if (last.substr(0, last.find(' ')) == now) return;
  run.set_fact("processes", fmt::format("{}, {} from step {}", told, now, taken));
}

/// A run may be made longer, and shorter only down to what it has trained.
void require_longer(const fs::path& dir, int64_t steps, int64_t taken) {
  if (steps >= taken) return;
  throw UsageError(fmt::format(
      "{} has trained {} steps already, and is asked for {} in all", dir.string(), taken, steps));
}

/// Writes the new number of steps to the facts of a run that goes on to another.
void note_length(store::RunWriter& run,
                 const fs::path& dir,
                 const train::TrainConfig& config,
                 int64_t steps,
                 int64_t taken) {
  const store::RunReader reader(dir);
  const auto before = reader.fact("steps");
  if (before == std::to_string(steps)) return;
  auto settings = from_ini(reader.fact("config"));
  settings.train.steps = config.steps;
  settings.train.epochs = config.epochs;
  run.set_fact("steps", std::to_string(steps));
  run.set_fact("config", to_ini(settings));
  run.write({.step = taken,
             .events = {{"length", fmt::format("goes on to {} steps, not {}", steps, before)}}});
}

/// A run that left the number of threads to LibTorch goes on with the number that it began with:
/// sums in other parts give other weights.
void keep_threads(int& threads, const store::RunReader& run, bool tells) {
  const auto text = run.fact("threads");
  int kept = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), kept);
  if (threads != 0 || error != std::errc() || end != text.data() + text.size()) return;
  threads = kept;
  if (tells && kept != at::get_num_threads())
    notice(
        "kappascope: going on with {}, as the run began, not the {} of this process: another "
        "number gives other weights\n",
        kept == 1 ? "1 thread" : fmt::format("{} threads", kept),
        at::get_num_threads());
}

void refuse_changes(const po::variables_map& values) {
  for (const auto& [name, value] : values) {
    if (!value.defaulted() && name != "resume" && name != "data" && name != "save" &&
        name != "json" && name != "force" && name != "device" && name != "stop-on" &&
        name != "train.steps" && name != "train.epochs") {
      throw UsageError("--resume takes the settings of the run; " + name +
                       " cannot be changed (its length can: train.steps, train.epochs)");
    }
  }
}

bool leads(const Group& group) {
  return group == nullptr || group->leads();
}

/// The newest checkpoint that is whole, as process 0 finds it; none where there is none yet.
std::optional<train::Checkpoint> checkpoint_of(const fs::path& dir,
                                               const Group& group,
                                               ProgressLine& line) {
  std::optional<train::Checkpoint> found;
  tensor::in_leader(group.get(), [&] {
    require(store::RunReader(dir).state() != "failed",
            "{} stopped because the loss became NaN or infinite; resuming would fail again: start "
            "a new run with --out and a lower train.learning-rate or a warm-up",
            dir.string());
    found = train::newest_checkpoint(dir, {}, [&](const std::string& why) {
      line.note("kappascope: warning: " + why + "; looking for an older checkpoint");
    });
  });
  if (group == nullptr) return found;
  auto step = torch::full({1}, found ? found->step : -1, torch::kLong);
  group->broadcast(step);
  const auto told = step.item<int64_t>();
  if (!group->leads() && told >= 0) found = train::newest_checkpoint(dir, told);
  return found;
}

/// What a process of a group has of the rows that the curvature is taken over: as many as the
/// others, so that the mean of their means is that of all.
at::Tensor own_rows(const at::Tensor& rows, const Group& group) {
  if (group == nullptr) return rows;
  const auto each = rows.numel() / group->size();
  if (each == 0) {
    throw UsageError(fmt::format(
        "probes.hessian-rows is {}, too few for {} processes", rows.numel(), group->size()));
  }
  return rows.narrow(0, each * group->rank(), each);
}

}  // namespace

int run_train(const Arguments& arguments) {
  return run_train_in(arguments, nullptr);
}

int run_train_in(const Arguments& arguments, const std::shared_ptr<tensor::Group>& group) {
  if (arguments.empty()) return nothing_to_train();
  end_with_parent();
  keep_freed_memory();
  Settings settings;
  TrainWords words;
  po::variables_map values;
  if (!parse(arguments, train_usage(settings, words), values)) return 0;

  train::TrainOptions options;
  if (values.count("stop-on") != 0)
    options.stop_on = alarms_named(values["stop-on"].as<std::string>(), "--stop-on");
  const bool resuming = !words.resume.empty();
  if (values.count("save") != 0)
    check_output(values["save"].as<std::string>(), tensor::kSafetensorsMark, values);
  if (resuming) {
    refuse_changes(values);
    const store::RunReader run(words.resume);
    const auto asked = settings.train;
    settings = from_ini(run.fact("config"));
    if (!values["train.steps"].defaulted()) settings.train.steps = asked.steps;
    if (!values["train.epochs"].defaulted()) {
      settings.train.epochs = asked.epochs;
      if (values["train.steps"].defaulted()) settings.train.steps = 0;
    }
    keep_threads(settings.train.threads, run, leads(group));
  }
  if (!words.data.empty()) settings.train.data = words.data;
  if (values.count("device") != 0) settings.train.device = values["device"].as<std::string>();
  if (values.count("init") != 0) settings.train.init = values["init"].as<std::string>();
  ProgressLine line(!leads(group));
  if (!resuming && values["model.kind"].defaulted() && data::holds_text(settings.train.data)) {
    settings.train.kind = "language";
    // A megabyte is then some 270 steps, and a step of a context of 128 has 4,096 tokens.
    if (values["train.batch"].defaulted()) settings.train.batch = 32;
    line.note(fmt::format(
        "{} holds text: training a language model (model.kind) on batches of {} (train.batch)",
        settings.train.data,
        settings.train.batch));
  }
  settings.train.label = label_of(settings.train);
  settings.train.validate();
  if (group != nullptr) settings.train.require_shared_by(group->size());
  if (asks_for_plan(words.plan)) {
    if (leads(group)) print_plan(settings, words.plan, values["json"].as<bool>());
    return 0;
  }
  fs::path dir = resuming ? words.resume : words.out;
  if (dir.empty()) dir = fs::path("runs") / folder_name(settings.train.label);
  std::optional<train::Checkpoint> checkpoint;
  if (resuming) checkpoint = checkpoint_of(dir, group, line);
  if (checkpoint) settings.train.init.clear();  // its weights are the run's, whatever they began as
  line.note(fmt::format("{}: reading {}", settings.train.label, settings.train.data));
  auto task = train::make_task(settings.train);
  settings.probes.last_step = task.steps - 1;
  if (settings.probes.hessian)
    settings.probes.curvature_loss =
        curvature_loss(task, own_rows(first_rows(task, curvature_rows_of(settings)), group));
  settings.probes.spectrum.on_product = [&](int products) {
    line.show(fmt::format("{}: Hessian window, {} products", settings.train.label, products));
    return !stop_is_overdue();
  };
  settings.probes.spectrum.on_set_up = [&](int evaluations) {
    line.show(fmt::format("{}: Hessian window, setting up ({} evaluations of its loss)",
                          settings.train.label,
                          evaluations));
    return !stop_is_overdue();
  };
  settings.probes.spectrum.preconditioner = [&](const curvature::NamedParameters& parameters) {
    return train::preconditioner(*task.optimizer, parameters);
  };
  auto probes = probes::standard_probes(task.model(), settings.probes);

  options.stop = &listen_for_stop();
  std::optional<store::RunWriter> run;
  tensor::in_leader(group.get(), [&] {
    if (resuming) {
      const auto taken = checkpoint ? checkpoint->step : 0;
      require_longer(dir, task.steps, taken);
      run = store::RunWriter::resume(dir, taken - 1);
      note_processes(*run, dir, group, taken);
      note_length(*run, dir, settings.train, task.steps, taken);
      return;
    }
    require(!store::RunWriter::holds_run(dir),
            "{0} already holds a run; choose another --out, or continue it with --resume {0}",
            dir.string());
    run = store::RunWriter::create(dir, facts_of(settings, task, arguments, group));
  });
  session::SessionOptions watching;
  watching.group = group;
  const int64_t processes = group == nullptr ? 1 : group->size();
  watching.rows = (settings.kept_rows + processes - 1) / processes;  // of this process's part
  watching.alarms.on_alarm = [&](const std::vector<session::Alarm>& raised) {
    line.note(fmt::format("{}: {}", settings.train.label, session::in_words(raised)));
  };
  probes::TappedSession session(task.model(), std::move(run), std::move(probes), watching);
  if (checkpoint) {
    train::load_checkpoint(*checkpoint, task, session);
    line.note(fmt::format("resuming {} after {} steps", dir.string(), checkpoint->step));
    checkpoint.reset();
  } else if (resuming) {
    line.note(dir.string() + " has no checkpoint yet: starting at the first step");
  }
  line.note(fmt::format("{}: {} steps of {} {}, writing {}; the time left is shown after ten steps",
                        settings.train.label,
                        task.steps - session.next_step(),
                        settings.train.batch,
                        task.problem->unit(),
                        dir.string()));
  constexpr int64_t kFewSteps = 100;
  if (settings.train.steps == 0 && task.steps < kFewSteps) {
    line.note(fmt::format(
        "{}: train.epochs = {} is all of {} steps; more epochs, train.steps or a smaller "
        "train.batch train longer",
        settings.train.label,
        settings.train.epochs,
        task.steps));
  }
  options.on_progress = [&](const train::Progress& progress) {
    line.show(progress_text(settings.train.label, progress), progress.step == progress.steps);
  };
  const auto result = train::train(task, session, options);
  line.close();
  if (leads(group) && result.state == "finished" && values.count("save") != 0)
    data::save_safetensors(task.model(), values["save"].as<std::string>());
  if (!leads(group)) return exit_status(result);
  return finish(result, dir, values["json"].as<bool>());
}

}  // namespace kappascope::cli
