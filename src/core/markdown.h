// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kappascope {

/// The text within a line of Markdown, where it makes no tag and no link, and as printable() has
/// it.
std::string markdown_text(const std::string& text);

/// The same as one cell of a table, which a bar would end.
std::string markdown_cell(const std::string& text);

}  // namespace kappascope
