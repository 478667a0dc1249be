// SPDX-License-Identifier: Apache-2.0
#include "kappascope/core/markdown.h"

namespace kappascope {

std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '|') out += '\\';
    out += letter;
  }
  return out;
}

}  // namespace kappascope
