// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

extern "C" {
extern const char kappascope_page_html_begin[], kappascope_page_html_end[];
extern const char kappascope_page_css_begin[], kappascope_page_css_end[];
extern const char kappascope_figures_js_begin[], kappascope_figures_js_end[];
extern const char kappascope_plot_js_begin[], kappascope_plot_js_end[];
extern const char kappascope_answers_js_begin[], kappascope_answers_js_end[];
extern const char kappascope_tables_js_begin[], kappascope_tables_js_end[];
extern const char kappascope_page_js_begin[], kappascope_page_js_end[];
extern const char kappascope_live_js_begin[], kappascope_live_js_end[];
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
inline std::string_view plot_js() {
  return {kappascope_plot_js_begin, kappascope_plot_js_end};
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

}  // namespace kappascope::reports
