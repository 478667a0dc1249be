// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/export.h"

#include <fmt/format.h>

#include <fstream>
#include <iostream>

#include "cli/command.h"
#include "cli/say.h"
#include "core/atomic_file.h"
#include "core/require.h"

namespace kappascope::cli {
namespace fs = std::filesystem;

int run_export(const Arguments& arguments) {
  std::string place, format, out;
  Usage usage;
  usage.synopsis = "kappascope export RUN_OR_FOLDER --format csv|jsonl|npz [--out FILE]";
  usage.text =
      "Writes the numbers of a run for other programs. csv and jsonl go to stdout without --out.\n"
      "A folder stands for the runs in it (two levels deep), and each number then has its run.\n"
      "The database can also be read directly: sqlite3 RUN/run.sqlite (its tables:\n"
      "src/store/README.md).\n\n"
      "example: kappascope export runs/pgb --format npz --out pgb.npz";
  usage.options.add_options()("help,h", "show this text")(
      "run", po::value(&place)->required(), "the run to read, or a folder of runs")(
      "format",
      po::value(&format)->default_value("csv")->value_name("NAME"),
      "csv, jsonl (JSON lines) or npz (NumPy)")(
      "out", po::value(&out)->value_name("FILE"), "the file to write; npz needs it");
  add_force(usage);
  usage.positional = "run";
  usage.positional_count = 1;
  po::variables_map values;
  if (!parse(arguments, usage, values)) return 0;
  if (format != "csv" && format != "jsonl" && format != "npz") {
    throw UsageError("--format must be csv, jsonl or npz, got '" + format + "'");
  }
  if (format == "npz" && out.empty()) throw UsageError("--format npz needs --out FILE.npz");
  const auto mark = format == "csv"     ? store::kCsvMark
                    : format == "jsonl" ? store::kJsonlMark
                                        : store::kNpzMark;
  if (!out.empty()) check_output(out, mark, values);
  const auto runs = store::runs_at({place});
  const bool damaged = warn_of_damage(runs);
  const bool alone = runs == std::vector<fs::path>{place};
  const std::vector<store::RunReader> readers(runs.begin(), runs.end());
  std::vector<store::NamedRun> named;
  named.reserve(readers.size());
  for (const auto& reader : readers)
    named.push_back({reader.dir().lexically_relative(place).generic_string(), &reader});
  const auto text = [&](std::ostream& to) {
    if (format == "csv") {
      alone ? store::export_csv(readers.front(), to) : store::export_csv(named, to);
    } else {
      alone ? store::export_jsonl(readers.front(), to) : store::export_jsonl(named, to);
    }
  };
  if (format == "npz") {
    alone ? store::export_npz(readers.front(), out) : store::export_npz(named, out);
  } else if (out.empty()) {
    text(std::cout);
  } else {
    write_atomically(out, [&](const fs::path& temporary) {
      std::ofstream file(temporary, std::ios::binary);
      text(file);
      file.close();
      require(file.good(), "cannot write {}: {}", out, std::strerror(errno));
    });
  }
  if (!out.empty()) say("{}\n", out);
  return damaged ? 1 : 0;
}

}  // namespace kappascope::cli
