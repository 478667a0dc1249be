// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/train/run_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>

#include "core/require.h"
#include "kappascope/probes/attach.h"
#include "kappascope/store/run_reader.h"
#include "lab/train/precision.h"
#include "lab/train/problems/problem.h"

namespace kappascope::cli {
namespace {

namespace fs = std::filesystem;

store::Facts facts_of(const Settings& settings,
                      const train::Task& task,
                      const Arguments& arguments,
                      tensor::Group* group) {
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
void note_processes(store::RunWriter& run,
                    const fs::path& dir,
                    tensor::Group* group,
                    int64_t taken) {
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

}  // namespace

std::optional<train::Checkpoint> checkpoint_of(const fs::path& dir,
                                               tensor::Group* group,
                                               ProgressLine& line) {
  std::optional<train::Checkpoint> found;
  tensor::in_leader(group, [&] {
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

std::optional<store::RunWriter> open_run(const TrainRequest& request,
                                         const train::Task& task,
                                         const Arguments& arguments,
                                         int64_t taken,
                                         tensor::Group* group) {
  const auto& dir = request.dir;
  std::optional<store::RunWriter> run;
  tensor::in_leader(group, [&] {
    if (request.resuming) {
      require_longer(dir, task.steps, taken);
      run = store::RunWriter::resume(dir, taken - 1);
      note_processes(*run, dir, group, taken);
      note_length(*run, dir, request.settings.train, task.steps, taken);
      return;
    }
    require(!store::RunWriter::holds_run(dir),
            "{0} already holds a run; choose another --out, or continue it with --resume {0}",
            dir.string());
    run = store::RunWriter::create(dir, facts_of(request.settings, task, arguments, group));
  });
  return run;
}

}  // namespace kappascope::cli
