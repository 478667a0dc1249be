// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/export.h"

#include <fmt/format.h>

#include <fstream>
#include <iostream>

#include "cli/command.h"
#include "kappascope/core/atomic_file.h"
#include "kappascope/core/require.h"

namespace kappascope::cli {
namespace fs = std::filesystem;

int run_export(const Arguments& arguments) {
  std::string run, format, out;
  Usage usage;
  usage.synopsis = "kappascope export RUN --format csv|jsonl|npz [--out FILE]";
  usage.text =
      "Writes the numbers of a run for other programs. csv and jsonl go to stdout without --out.\n"
      "The database can also be read directly: sqlite3 RUN/run.sqlite (its tables:\n"
      "src/store/README.md).\n\n"
      "example: kappascope export runs/pgb --format npz --out pgb.npz";
  usage.options.add_options()("help,h", "show this text")(
      "run", po::value(&run)->required(), "the run to read")(
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
  warn_of_damage({run});
  const store::RunReader reader(run);
  const auto text = [&](std::ostream& to) {
    format == "csv" ? store::export_csv(reader, to) : store::export_jsonl(reader, to);
  };
  if (format == "npz") {
    store::export_npz(reader, out);
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
  if (!out.empty()) fmt::print("{}\n", out);
  return reader.damaged().empty() ? 0 : 1;
}

}  // namespace kappascope::cli
