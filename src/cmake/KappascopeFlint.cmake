# SPDX-License-Identifier: Apache-2.0
# Finds FLINT, and MPFR and GMP, on which it stands, and defines kappascope::flint.
find_path(FLINT_INCLUDE_DIR flint/fmpq_mat.h)
set(found ${FLINT_INCLUDE_DIR})
add_library(kappascope_flint INTERFACE IMPORTED GLOBAL)
foreach(name flint mpfr gmp)
  find_library(${name}_LIBRARY ${name})
  list(APPEND found ${${name}_LIBRARY})
  target_link_libraries(kappascope_flint INTERFACE ${${name}_LIBRARY})
endforeach()
if(found MATCHES NOTFOUND)
  message(FATAL_ERROR "FLINT 2.9 or newer was not found: install libflint-dev (Debian), flint-devel (Fedora) or flint (Homebrew), "
          "or name its folder in CMAKE_PREFIX_PATH")
endif()
target_include_directories(kappascope_flint INTERFACE ${FLINT_INCLUDE_DIR})
add_library(kappascope::flint ALIAS kappascope_flint)
