// SPDX-License-Identifier: Apache-2.0
// Writes the report of the sample runs into a folder, to be looked at: reports_sample DIR
#include <cstdio>
#include <exception>
#include <fstream>
#include <vector>

#include "kappascope/reports/report.h"
#include "reports/sample_run.h"

int main(int argc, char** argv) {
  namespace reports = kappascope::reports;
  if (argc != 2) {
    std::fputs("usage: reports_sample DIR\n", stderr);
    return 2;
  }
  try {
    const std::filesystem::path out = argv[1];
    std::filesystem::create_directories(out);
    const kappascope::TemporaryFolder runs;
    const std::vector<std::filesystem::path> arms = {
        reports::write_sample_run(runs / "a"),
        reports::write_sample_run(runs / "b", {.label = "post-gating bias", .bias = true})};
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
