// SPDX-License-Identifier: Apache-2.0
// The files of the page, put into the library as they are. CMake gives the paths.
#define ASSET(name, file)                 \
  .global kappascope_##name##_begin;      \
  .global kappascope_##name##_end;        \
  kappascope_##name##_begin: .incbin file; \
  kappascope_##name##_end:

  .section .rodata
ASSET(page_html, KAPPASCOPE_PAGE_HTML)
ASSET(page_css, KAPPASCOPE_PAGE_CSS)
ASSET(figures_js, KAPPASCOPE_FIGURES_JS)
ASSET(plot_js, KAPPASCOPE_PLOT_JS)
ASSET(answers_js, KAPPASCOPE_ANSWERS_JS)
ASSET(tables_js, KAPPASCOPE_TABLES_JS)
ASSET(page_js, KAPPASCOPE_PAGE_JS)
ASSET(live_js, KAPPASCOPE_LIVE_JS)
  .section .note.GNU-stack, "", @progbits
