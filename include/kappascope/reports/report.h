// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kappascope::reports {

/// One self-contained HTML page about the runs at `places` (store::runs_at; arms on one step axis),
/// from the run stores alone; the same stores give the same bytes. Runs that differ in their seed
/// alone are one arm, with medians and bands. Throws when a run cannot be read.
std::string html_report(const std::vector<std::filesystem::path>& places);

/// What stands in the head of every page, by which the file is known to be replaceable.
inline constexpr const char* kPageMark = "Kappascope</title>";

enum class FigureFormat { kSvg, kPdf, kPng };

/// The same figures, one file each, through gnuplot, and a list of them (figures.json). Returns the
/// figures' files. Throws when gnuplot is missing, saying how to get it, and where a file of that
/// name is there that the list does not have (unless `force`), before anything is written.
std::vector<std::filesystem::path> write_figures(const std::vector<std::filesystem::path>& places,
                                                 const std::filesystem::path& dir,
                                                 FigureFormat format,
                                                 bool force = false);

}  // namespace kappascope::reports
