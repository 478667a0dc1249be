// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace kappascope::reports {

/// Escapes text; symbols and terms, each the first time that this object meets it, become links to
/// the glossary with their meaning as a tooltip. What stands between backticks becomes code.
class Explain {
 public:
  std::string operator()(const std::string& text);

 private:
  std::string terms_in(std::string_view text);

  std::set<std::string_view> seen_;
};

/// Every term with its meaning.
std::string glossary_html();

}  // namespace kappascope::reports
