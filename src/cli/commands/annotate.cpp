// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.h"
#include "kappascope/core/error.h"
#include "kappascope/store/run_reader.h"
#include "kappascope/store/run_writer.h"

namespace kappascope::cli {

int run_annotate(const Arguments& arguments) {
  std::vector<std::string> runs;
  std::string label, note;
  Usage usage;
  usage.synopsis =
      "kappascope annotate RUN... [--label LABEL] [--note TEXT] [--archive | --restore]";
  usage.text =
      "Changes what a person says of a run that is not being written: its label, which lists and\n"
      "pages call it by, and a note, which stands among its facts. An archived run is passed over\n"
      "where a folder is named (runs, report, watch, advise, export) and read where it is named\n"
      "itself. A run is one folder: to remove it, delete that.\n\n"
      "example: kappascope annotate runs/none --note 'warm-up was too short'";
  usage.options.add_options()("help,h", "show this text")(
      "runs", po::value(&runs)->required(), "the runs")(
      "label", po::value(&label), "the new label")(
      "note", po::value(&note), "the new note; an empty one removes it")(
      "archive", po::bool_switch(), "pass over these runs where a folder is named")(
      "restore", po::bool_switch(), "do so no longer");
  usage.positional = "runs";
  usage.positional_count = -1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  const bool archive = values["archive"].as<bool>(), restore = values["restore"].as<bool>();
  if (archive && restore) throw UsageError("--archive and --restore exclude each other");
  if (!archive && !restore && values.count("label") == 0 && values.count("note") == 0)
    throw UsageError("nothing to change: give --label, --note, --archive or --restore");
  for (const auto& run : runs) {
    auto writer = store::RunWriter::append(run);
    if (values.count("label") > 0) writer.set_fact("label", label);
    if (values.count("note") > 0) writer.set_fact("note", note);
    if (archive || restore) writer.set_fact(store::kArchived, archive ? "yes" : "");
    writer.make_durable();
  }
  return 0;
}

}  // namespace kappascope::cli
