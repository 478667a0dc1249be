// SPDX-License-Identifier: Apache-2.0
// Writes the report of the sample runs, or of the runs that are named, into a folder, to be looked
// at: reports_sample DIR [RUN...]. DIR/layers.html has 36 layers, DIR/arms.html eight arms,
// DIR/many.html 65 runs of 13 arms, DIR/dead.html runs that ended early.
#include <cstdio>
#include <exception>
#include <fstream>
#include <vector>

#include "kappascope/reports/report.h"
#include "reports/sample_run.h"

int main(int argc, char** argv) {
  namespace reports = kappascope::reports;
  namespace store = kappascope::store;
  if (argc < 2 || argv[1][0] == '-') {
    std::fputs("usage: reports_sample DIR [RUN...]\n", stderr);
    return 2;
  }
  try {
    const std::filesystem::path out = argv[1];
    std::filesystem::create_directories(out);
    const kappascope::TemporaryFolder runs;
    std::vector<std::filesystem::path> arms(argv + 2, argv + argc);
    if (arms.empty()) {
      arms = {reports::write_sample_run(runs / "a"),
              reports::write_sample_run(runs / "b", {.label = "post-gating bias", .bias = true})};
    }
    const auto page = [&](const char* name, const std::vector<std::filesystem::path>& of) {
      std::ofstream(out / name, std::ios::binary) << reports::html_report(of);
    };
    page("report.html", arms);
    page("layers.html",
         {reports::write_sample_run(runs / "l1", {.layers = 36}),
          reports::write_sample_run(runs / "l2",
                                    {.label = "post-gating bias", .bias = true, .layers = 36})});
    std::vector<std::filesystem::path> eight;
    for (int i = 1; i <= 8; ++i) {
      const std::string name = "arm " + std::to_string(i);
      eight.push_back(reports::write_sample_run(runs / name, {.label = name, .bias = i % 2 == 0}));
    }
    page("arms.html", eight);
    page("many.html", reports::write_many_runs(runs / "many"));
    page("dead.html",
         {reports::write_sample_run(runs / "d1", {.label = "diverged", .nan_loss = true}),
          store::RunWriter::create(runs / "d2", {{"label", "just begun"}}).dir()});
    for (const auto format :
         {reports::FigureFormat::kSvg, reports::FigureFormat::kPdf, reports::FigureFormat::kPng}) {
      reports::write_figures(arms, out, format);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reports_sample: %s\n", error.what());
    return 1;
  }
  return 0;
}
