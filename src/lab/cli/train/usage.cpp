// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/train/usage.h"

#include "core/notice.h"
#include "lab/cli/settings_options.h"
#include "lab/cli/train/alarm_names.h"

namespace kappascope::cli {

Usage train_usage(Settings& settings, TrainWords& words) {
  Usage usage;
  usage.synopsis =
      "kappascope train --config FILE | --data PATH | --resume RUN [--out RUN] [settings]";
  usage.text =
      "Trains a gated MLP, a language model or a ViT-VAE with probes attached, and writes a\n"
      "run: a directory with a SQLite database (run.sqlite) and checkpoints. The loss is the\n"
      "same with and without probes. Ctrl-C saves the state; --resume continues to the same\n"
      "bits as an uninterrupted run.\n\n"
      "Alarms are events of the run, lines here, and marks on the page. --stop-on takes their\n"
      "names:\n" +
      alarms_in_words() +
      "\nexample: kappascope train --config experiments/demo.ini --out runs/demo";
  usage.options.add_options()("help,h", "show this text")(
      "config", po::value<std::string>()->value_name("FILE"), "INI file of settings")(
      "data",
      po::value(&words.data)->value_name("PATH"),
      "what to train on: an image set, a text, or token files (short for --data.path)")(
      "init",
      po::value<std::string>()->value_name("FILE"),
      "start from the weights in a safetensors file, by name (short for --model.init)")(
      "device",
      po::value<std::string>()->value_name("NAME"),
      "where to train: cpu, cuda, cuda:N or auto (short for --train.device)")(
      "out",
      po::value(&words.out)->value_name("RUN"),
      "directory of the new run (default: runs/LABEL)")(
      "resume",
      po::value(&words.resume)->value_name("RUN"),
      "continue a run that stopped, or train a finished one longer, to --train.steps in all (the "
      "schedule is then that of the new length)")(
      "save",
      po::value<std::string>()->value_name("FILE"),
      "also write the final weights as a safetensors file")(
      "stop-on",
      po::value<std::string>()->value_name("ALARMS"),
      "stop with a checkpoint after the step that raises one of these alarms: names above, with "
      "commas, or any")("json", po::bool_switch(), "print the result as JSON");
  add_plan(usage.options, words.plan);
  add_force(usage);
  usage.groups = settings_groups(settings);
  usage.common = common_settings();
  usage.takes_config = true;
  return usage;
}

int nothing_to_train() {
  notice(
      "usage: kappascope train --config FILE | --data PATH | --resume RUN [settings]\n\n"
      "Say what to train:\n"
      "  --config experiments/demo.ini   the settings in a file\n"
      "  --data PATH                     the default model on your images or text\n"
      "  --resume RUN                    continue a run that stopped\n\n"
      "`kappascope train --help` lists the settings with their defaults.\n");
  return 2;
}

}  // namespace kappascope::cli
