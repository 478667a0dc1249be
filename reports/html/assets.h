// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

extern "C" {
extern const char kappascope_page_html_begin[], kappascope_page_html_end[];
extern const char kappascope_page_css_begin[], kappascope_page_css_end[];
extern const char kappascope_figures_js_begin[], kappascope_figures_js_end[];
extern const char kappascope_sketch_js_begin[], kappascope_sketch_js_end[];
extern const char kappascope_answers_js_begin[], kappascope_answers_js_end[];
extern const char kappascope_tables_js_begin[], kappascope_tables_js_end[];
extern const char kappascope_page_js_begin[], kappascope_page_js_end[];
extern const char kappascope_live_js_begin[], kappascope_live_js_end[];
extern const char kappascope_packed_plotly_begin[], kappascope_packed_plotly_end[];
}

namespace kappascope::reports {

// The files as they were when the library was built (assets.S).
inline std::string_view page_html() {
  return {kappascope_page_html_begin, kappascope_page_html_end};
}
inline std::string_view page_css() {
  return {kappascope_page_css_begin, kappascope_page_css_end};
}
inline std::string_view figures_js() {
  return {kappascope_figures_js_begin, kappascope_figures_js_end};
}
inline std::string_view sketch_js() {
  return {kappascope_sketch_js_begin, kappascope_sketch_js_end};
}
inline std::string_view answers_js() {
  return {kappascope_answers_js_begin, kappascope_answers_js_end};
}
inline std::string_view tables_js() {
  return {kappascope_tables_js_begin, kappascope_tables_js_end};
}
inline std::string_view page_js() {
  return {kappascope_page_js_begin, kappascope_page_js_end};
}
inline std::string_view live_js() {
  return {kappascope_live_js_begin, kappascope_live_js_end};
}
/// Base64 of a gzip file of the script.
inline std::string_view packed_plotly() {
  return {kappascope_packed_plotly_begin, kappascope_packed_plotly_end};
}

}  // namespace kappascope::reports
