# SPDX-License-Identifier: Apache-2.0
# Finds the script that every report embeds and sets KAPPASCOPE_PLOTLY_JS. What stands in a page that
# people open is one file that was looked at: its hash is checked, wherever it comes from.

set(_kappascope_plotly plotly==6.5.0)
set(KAPPASCOPE_PLOTLY_SHA256 6ceddd4bac82a64f5a2b8814a4d10bb4288379262f1989caee3148e7c3509c72 CACHE STRING
    "SHA-256 of the plotly.min.js that the report embeds")

if(NOT KAPPASCOPE_PLOTLY_JS)
  file(GLOB found ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/plotly/package_data/plotly.min.js)
  if(found)
    list(GET found 0 found)
    set(KAPPASCOPE_PLOTLY_JS ${found} CACHE FILEPATH "plotly.min.js to embed in the report" FORCE)
  endif()
endif()
if(NOT EXISTS "${KAPPASCOPE_PLOTLY_JS}")
  message(FATAL_ERROR "plotly.min.js was not found (KAPPASCOPE_PLOTLY_JS is \"${KAPPASCOPE_PLOTLY_JS}\"). The report embeds it: install "
          "the PyPI package that ships it (python3 -m venv .venv && .venv/bin/pip install ${_kappascope_plotly}; "
          "./quickstart does it), or name the file with -DKAPPASCOPE_PLOTLY_JS=/path/to/plotly.min.js.")
endif()
file(SHA256 "${KAPPASCOPE_PLOTLY_JS}" hash)
if(NOT hash STREQUAL KAPPASCOPE_PLOTLY_SHA256)
  message(FATAL_ERROR "${KAPPASCOPE_PLOTLY_JS} is not the script of ${_kappascope_plotly}: its SHA-256 is ${hash}, not "
          "${KAPPASCOPE_PLOTLY_SHA256}. Install ${_kappascope_plotly}, or embed this file all the same with "
          "-DKAPPASCOPE_PLOTLY_SHA256=${hash}.")
endif()

# As the page carries it (page.js unpacks it).
set(KAPPASCOPE_PACKED_PLOTLY ${PROJECT_BINARY_DIR}/plotly.min.js.gz.base64)
execute_process(COMMAND gzip -9 -n -c "${KAPPASCOPE_PLOTLY_JS}" COMMAND base64 -w0 OUTPUT_FILE "${KAPPASCOPE_PACKED_PLOTLY}"
                COMMAND_ERROR_IS_FATAL ANY)
