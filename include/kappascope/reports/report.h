// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kappascope::reports {

/// One self-contained HTML page about one or several runs (arms on one step axis), from the run
/// stores alone; the same stores give the same bytes. Throws when a run cannot be read.
std::string html_report(const std::vector<std::filesystem::path>& runs);

enum class FigureFormat { kSvg, kPdf, kPng };

/// The same figures, one file each, through gnuplot. Returns the files. Throws when gnuplot is
/// missing, saying how to get it.
std::vector<std::filesystem::path> write_figures(const std::vector<std::filesystem::path>& runs,
                                                 const std::filesystem::path& dir,
                                                 FigureFormat format);

}  // namespace kappascope::reports
