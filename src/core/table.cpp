// SPDX-License-Identifier: Apache-2.0
#include "core/table.h"

#include <algorithm>

#include "core/printable.h"
#include "core/wrap.h"

namespace kappascope {
namespace {

constexpr std::size_t kIndent = 2, kGap = 2;

/// Whether a new line begins at each column.
std::vector<bool> breaks_of(const std::vector<std::size_t>& widths, std::size_t width) {
  std::vector<bool> breaks(widths.size());
  std::size_t used = kIndent;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    breaks[i] = i > 0 && used + kGap + widths[i] > width;
    used = breaks[i] ? 2 * kIndent + widths[i] : used + (i > 0 ? kGap : 0) + widths[i];
  }
  return breaks;
}

}  // namespace

std::string table_text(Rows rows, std::size_t width) {
  if (rows.empty()) return "";
  for (auto& row : rows) std::ranges::transform(row, row.begin(), printable);
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], characters(row[i]));
  }
  const auto breaks = breaks_of(widths, width);
  std::string text;
  for (const auto& row : rows) {
    std::string line(kIndent, ' ');
    const auto end_line = [&] {
      text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
      line = std::string(2 * kIndent, ' ');
    };
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (breaks[i]) end_line();
      if (i > 0 && !breaks[i]) line += std::string(kGap, ' ');
      const std::string blanks(widths[i] - characters(row[i]), ' ');
      const bool left = i == 0 || i + 1 == row.size();
      line += left ? row[i] + blanks : blanks + row[i];
    }
    end_line();
  }
  return text;
}

}  // namespace kappascope
