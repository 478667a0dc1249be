// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>

#include <atomic>
#include <cctype>
#include <cmath>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/curvature_task.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "kappascope/core/error.h"
#include "kappascope/core/time.h"
#include "kappascope/train/checkpoint.h"
#include "kappascope/train/trainer.h"

namespace kappascope::cli {
namespace {

namespace fs = std::filesystem;

std::atomic<bool> stop_requested{false};
std::atomic<std::time_t> stop_requested_at{0};

// A second Ctrl-C ends the program at once, but only one that a person had time to press: timeout
// and batch systems send the same signal to the program and to its group.
void request_stop(int /*signal*/) {
  constexpr std::time_t kOneEvent = 2;  // seconds
  const auto now = std::time(nullptr);
  std::time_t first = 0;
  if (stop_requested_at.compare_exchange_strong(first, now)) {
    stop_requested = true;
  } else if (now - first >= kOneEvent) {
    std::_Exit(130);
  }
}

std::string progress_text(const std::string& label, const train::Progress& progress) {
  double worst = 0;
  for (const auto& scalar : progress.session->latest()) {
    if (scalar.name == "kappa/second_moment" && std::isfinite(scalar.value))
      worst = std::max(worst, scalar.value);
  }
  return fmt::format("{}: step {}/{}  loss {:.4f}{}  {} left",
                     label,
                     progress.step,
                     progress.steps,
                     progress.loss,
                     worst > 0 ? fmt::format("  worst kappa {:.3g}", worst) : "",
                     format_seconds(progress.seconds_left));
}

// A label as the name of a folder: no spaces or slashes, so that it can be typed back.
std::string folder_name(std::string label) {
  for (char& c : label) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 128 && std::isalnum(byte) == 0 && c != '.' && c != '_') c = '-';
  }
  return label;
}

int finish(const train::TrainResult& result, const fs::path& dir, bool json) {
  if (json) {
    const nlohmann::json out = {
        {"run", dir.string()},
        {"state", result.state},
        {"steps", result.steps},
        {"loss", std::isfinite(result.loss) ? nlohmann::json(result.loss) : nlohmann::json()},
        {"message", result.message}};
    fmt::print("{}\n", out.dump());
  } else {
    fmt::print("{}\n", dir.string());
  }
  if (result.state == "interrupted") {
    fmt::print(stderr,
               "kappascope: {}; go on with: kappascope train --resume '{}'\n",
               result.message,
               dir.string());
    return 130;
  }
  if (result.state == "failed") {
    fmt::print(
        stderr,
        "kappascope: error: {}; the state before that update is saved in {}. See what the "
        "condition numbers "
        "did before: kappascope report '{}'. A lower train.learning-rate or a warm-up is the "
        "usual cure\n",
        result.message,
        (dir / "checkpoints").string(),
        dir.string());
    return 1;
  }
  return 0;
}

}  // namespace

int run_train(const Arguments& arguments) {
  Settings settings;
  const auto setting_options = settings_options(settings);
  std::string out, resume, data;
  Usage usage;
  usage.synopsis =
      "kappascope train --config FILE [--data PATH] [--out RUN | --resume RUN] [settings]";
  usage.text =
      "Trains gated MLPs, a language model or a ViT-VAE (model.kind) with probes attached, "
      "and\nwrites a run: a\n"
      "directory with one SQLite database (run.sqlite) and checkpoints. Ctrl-C saves; --resume "
      "goes\n"
      "on to the last bit as if nothing had happened. The loss is the same with and without "
      "probes.\n\n"
      "example: kappascope train --config experiments/demo.ini --model.bias post-gating --out "
      "runs/pgb";
  po::options_description general("Options");
  general.add_options()("help,h", "this text")(
      "config", po::value<std::string>(), "INI file with settings")(
      "data", po::value(&data)->value_name("PATH"), "short for data.path")(
      "out", po::value(&out)->value_name("RUN"), "directory of the new run (default: runs/LABEL)")(
      "resume", po::value(&resume)->value_name("RUN"), "go on with a run that stopped")(
      "json", po::bool_switch(), "print the result as JSON");
  usage.options.add(general).add(setting_options);
  usage.takes_config = true;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;

  const bool resuming = !resume.empty();
  if (resuming) {
    for (const auto& [name, value] : values) {
      if (!value.defaulted() && name != "resume" && name != "data" && name != "json") {
        throw UsageError("--resume takes the settings of the run; " + name + " cannot be changed");
      }
    }
    settings = from_ini(store::RunReader(resume).fact("config"));
  }
  if (!data.empty()) settings.train.data = data;
  settings.train.label = label_of(settings.train);
  auto task = train::make_task(settings.train);
  settings.probes.last_step = task.steps - 1;
  if (settings.probes.hessian)
    settings.probes.curvature_loss =
        curvature_loss(task, first_rows(task, settings.curvature_rows));
  auto probes = probes::standard_probes(task.model(), settings.probes);

  fs::path dir = resuming
                     ? fs::path(resume)
                     : fs::path(out.empty() ? "runs/" + folder_name(settings.train.label) : out);
  std::optional<fs::path> checkpoint;
  if (resuming) {
    require(
        store::RunReader(dir).state() != "failed",
        dir.string(),
        " stopped because its loss left the finite numbers; going on would repeat that: start a "
        "new run with --out and a lower train.learning-rate or a warm-up");
    checkpoint = train::find_checkpoint(dir);  // none yet: from the first step
  }
  const auto make_run = [&] {
    if (resuming) {
      return store::RunWriter::resume(dir,
                                      (checkpoint ? train::checkpoint_step(*checkpoint) : 0) - 1);
    }
    auto facts = probes::standard_facts(task.model());
    facts.insert(facts.end(),
                 {{"label", settings.train.label},
                  {"condition", settings.condition},
                  {"config", to_ini(settings)},
                  {"data",
                   fmt::format("{} ({} training, {} test {})",
                               settings.train.data,
                               task.problem->rows(data::Split::kTrain),
                               task.problem->rows(data::Split::kTest),
                               task.problem->unit())},
                  {"seed", std::to_string(settings.train.seed)},
                  {"steps", std::to_string(task.steps)},
                  {"command", "kappascope train " + fmt::format("{}", fmt::join(arguments, " "))}});
    return store::RunWriter::create(dir, facts);
  };
  stop_requested = false;
  stop_requested_at = 0;
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  train::Session session(task.model(), make_run(), std::move(probes));
  if (checkpoint) {
    const auto step = train::load_checkpoint(*checkpoint, task.model(), *task.optimizer, session);
    fmt::print(stderr, "kappascope: resuming {} after step {}\n", dir.string(), step);
  } else if (resuming) {
    fmt::print(stderr, "kappascope: {} has no checkpoint yet: from the first step\n", dir.string());
  }
  ProgressLine line;
  train::TrainOptions options;
  options.stop = &stop_requested;
  options.on_progress = [&](const train::Progress& progress) {
    line.show(progress_text(settings.train.label, progress), progress.step == progress.steps);
  };
  const auto result = train::train(task, session, options);
  return finish(result, dir, values["json"].as<bool>());
}

}  // namespace kappascope::cli
