// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace kappascope {

/// Cells of a table by rows, the heading first; every row has as many.
using Rows = std::vector<std::vector<std::string>>;

/// The rows with aligned columns, the first and the last to the left, the others to the right,
/// their cells as printable() has them. Where they are wider than `width`, each row goes on below,
/// indented, at the same column; nothing is cut.
std::string table_text(Rows rows, std::size_t width);

}  // namespace kappascope
