# SPDX-License-Identifier: Apache-2.0
# One layer of the house is one static library kappascope::<name>, with the headers of
# include/kappascope/<name>/ as its public face.

add_library(kappascope_warnings INTERFACE)
# GCC 12 at -O3 sees overlapping copies in std::string's operator+ where there are none (GCC bug 105651).
target_compile_options(kappascope_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                       $<$<BOOL:${KAPPASCOPE_WERROR}>:-Werror>)

# kappascope_layer(<name> SOURCES a.cpp ... [DEPENDS layer ...] [LINKS target ...]
#                  [PRIVATE_LINKS target ...] [TORCH])
function(kappascope_layer name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;DEPENDS;LINKS;PRIVATE_LINKS" ${ARGN})
  set(target kappascope_${name})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/kappascope/${name}/*.h)
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(kappascope::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_sources(${target} PUBLIC FILE_SET HEADERS
                 BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${headers})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM ARG_DEPENDS PREPEND kappascope::)
  target_link_libraries(${target} PUBLIC ${ARG_DEPENDS} ${ARG_LINKS}
                        PRIVATE $<BUILD_INTERFACE:kappascope_warnings> fmt::fmt ${ARG_PRIVATE_LINKS})
  if(ARG_TORCH)
    target_link_libraries(${target} PUBLIC kappascope::torch)
    kappascope_use_torch(${target})
  endif()
  set_property(GLOBAL APPEND PROPERTY KAPPASCOPE_LAYERS ${target})
endfunction()
