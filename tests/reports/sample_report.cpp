// SPDX-License-Identifier: Apache-2.0
// Writes the report of the sample runs, or of the runs that are named, into a folder, to be looked
// at: reports_sample DIR [RUN...]
#include <cstdio>
#include <exception>
#include <fstream>
#include <vector>

#include "kappascope/reports/report.h"
#include "reports/sample_run.h"

int main(int argc, char** argv) {
  namespace reports = kappascope::reports;
  if (argc < 2) {
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
    std::ofstream(out / "report.html", std::ios::binary) << reports::html_report(arms);
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
