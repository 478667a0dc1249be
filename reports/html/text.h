// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kappascope::reports {

/// Text for an element or a quoted attribute: & < > " ' are replaced, control characters that HTML
/// does not allow are dropped.
std::string escape_html(std::string_view text);

/// JSON that may stand in a <script>: < > & become \u003c \u003e \u0026, which means the same.
std::string escape_json_for_script(std::string_view json);

/// Replaces each {{name}} of the template by its value, once: a value that holds {{...}} stays as
/// it is. A name without a value is a bug of ours.
std::string fill_template(std::string_view text,
                          const std::vector<std::pair<std::string_view, std::string_view>>& values);

}  // namespace kappascope::reports
