// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kappascope {

/// The text as one cell of a Markdown table, which a bar or a line break would end.
std::string markdown_cell(const std::string& text);

}  // namespace kappascope
