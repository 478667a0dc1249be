// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/train/request.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "core/notice.h"
#include "core/own_files.h"
#include "kappascope/core/error.h"
#include "kappascope/store/run_reader.h"
#include "lab/cli/train/alarm_names.h"
#include "lab/cli/train/usage.h"
#include "lab/data/tokens.h"
#include "tensor/safetensors/safetensors.h"

namespace kappascope::cli {
namespace {

/// A run that left the number of threads to LibTorch goes on with the number that it began with:
/// sums in other parts give other weights.
void keep_threads(int& threads, const store::RunReader& run, bool leads) {
  const auto text = run.fact("threads");
  int kept = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), kept);
  if (threads != 0 || error != std::errc() || end != text.data() + text.size()) return;
  threads = kept;
  if (leads && kept != at::get_num_threads())
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

/// The settings of the run that goes on, with the length that is asked for.
void take_stored(Settings& settings,
                 const std::string& dir,
                 const po::variables_map& values,
                 bool leads) {
  refuse_changes(values);
  const store::RunReader run(dir);
  const auto asked = settings.train;
  settings = from_ini(run.fact("config"));
  if (!values["train.steps"].defaulted()) settings.train.steps = asked.steps;
  if (!values["train.epochs"].defaulted()) {
    settings.train.epochs = asked.epochs;
    if (values["train.steps"].defaulted()) settings.train.steps = 0;
  }
  keep_threads(settings.train.threads, run, leads);
}

}  // namespace

std::optional<TrainRequest> read_train_request(const Arguments& arguments, tensor::Group* group) {
  TrainRequest request;
  auto& train = request.settings.train;
  TrainWords words;
  po::variables_map values;
  if (!parse(arguments, train_usage(request.settings, words), values)) return std::nullopt;
  const auto text = [&](const char* name) {
    return values.count(name) == 0 ? "" : values[name].as<std::string>();
  };
  if (const auto names = text("stop-on"); !names.empty())
    request.options.stop_on = alarms_named(names, "--stop-on");
  request.save = text("save");
  if (!request.save.empty()) check_output(request.save, tensor::kSafetensorsMark, values);
  request.json = values["json"].as<bool>();
  request.plan = words.plan;
  request.resuming = !words.resume.empty();
  if (request.resuming)
    take_stored(request.settings, words.resume, values, group == nullptr || group->leads());
  if (!words.data.empty()) train.data = words.data;
  if (values.count("device") != 0) train.device = text("device");
  if (values.count("init") != 0) train.init = text("init");
  if (!request.resuming && values["model.kind"].defaulted() && data::holds_text(train.data)) {
    train.kind = "language";
    // A megabyte is then some 270 steps, and a step of a context of 128 has 4,096 tokens.
    if (values["train.batch"].defaulted()) train.batch = 32;
    request.notes.push_back(fmt::format(
        "{} holds text: training a language model (model.kind) on batches of {} (train.batch)",
        train.data,
        train.batch));
  }
  train.label = label_of(train);
  train.validate();
  if (group != nullptr) train.require_shared_by(group->size());
  request.dir = request.resuming ? words.resume : words.out;
  if (request.dir.empty()) request.dir = std::filesystem::path("runs") / folder_name(train.label);
  return request;
}

}  // namespace kappascope::cli
