# SPDX-License-Identifier: Apache-2.0
# One layer of the house is one static library kappascope::<name>. A header that a user may include
# is in include/kappascope/<name>/; every other one stands beside its source and is not installed.

add_library(kappascope_warnings INTERFACE)
# GCC 12 sees overlapping copies in std::string's operator+ where there are none (bug 105651), and at
# -O1 writes of fmt and of std::string beyond their buffers.
target_compile_options(kappascope_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-stringop-overflow;-Wno-array-bounds>
                       $<$<BOOL:${KAPPASCOPE_WERROR}>:-Werror>)

# A bug of our own ends the program in every build: assertions stay on, but in sources with
# LibTorch, whose headers would check themselves too.
set(KAPPASCOPE_ASSERTIONS $<$<CONFIG:Release>:-UNDEBUG>)
# What formatted text and containers cost to read, once a library in place of once a source.
set(KAPPASCOPE_PRECOMPILED <fmt/format.h> <algorithm> <functional> <map> <optional> <string> <vector>)

# Compiles the sources of a target together, eight at a time: what each includes of LibTorch, Eigen or
# the standard library is read once a group. Their unnamed namespaces are then one, so a name that
# stands in two of them must not differ in meaning. CMake's own UNITY_BUILD includes them by absolute paths, under which another clone
# finds none of them in the compiler's cache.
function(kappascope_unite target)
  if(NOT KAPPASCOPE_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  set_source_files_properties(${sources} PROPERTIES HEADER_FILE_ONLY ON)
  set(group 0)
  while(sources)
    set(text "")
    foreach(member RANGE 7)
      list(POP_FRONT sources source)
      if(source)
        cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
        string(APPEND text "#include \"${source}\"\n")
      endif()
    endforeach()
    set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}_${group}.cpp)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
    target_sources(${target} PRIVATE ${file})
    math(EXPR group "${group} + 1")
  endwhile()
endfunction()

# kappascope_layer(<name> SOURCES a.cpp ... [DEPENDS layer ...] [LINKS target ...]
#                  [PRIVATE_LINKS target ...] [TORCH] [LAB] [UNITED] [COLD])
#   LAB: of the laboratory, which is not installed.
#   UNITED: its sources are compiled in groups where KAPPASCOPE_UNITY asks for it; TORCH implies it.
#   COLD: what it does takes no time; -O1 compiles it in two thirds of the time.
function(kappascope_layer name)
  cmake_parse_arguments(ARG "TORCH;LAB;UNITED;COLD" "" "SOURCES;DEPENDS;LINKS;PRIVATE_LINKS" ${ARGN})
  set(target kappascope_${name})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/kappascope/${name}/*.h)
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(kappascope::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_sources(${target} PUBLIC FILE_SET HEADERS
                 BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${headers})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  list(TRANSFORM ARG_DEPENDS PREPEND kappascope::)
  target_link_libraries(${target} PUBLIC ${ARG_DEPENDS} ${ARG_LINKS}
                        PRIVATE $<BUILD_INTERFACE:kappascope_warnings> fmt::fmt ${ARG_PRIVATE_LINKS})
  if(ARG_TORCH)
    target_link_libraries(${target} PUBLIC kappascope::torch)
    kappascope_use_torch(${target})
    kappascope_unite(${target})
  else()
    target_compile_options(${target} PRIVATE ${KAPPASCOPE_ASSERTIONS})
    target_precompile_headers(${target} PRIVATE ${KAPPASCOPE_PRECOMPILED})
    if(ARG_UNITED)
      kappascope_unite(${target})
    endif()
  endif()
  if(ARG_COLD)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(NOT ARG_LAB AND ARG_TORCH)
    set_property(GLOBAL APPEND PROPERTY KAPPASCOPE_TORCH_LAYERS ${target})
  elseif(NOT ARG_LAB)
    set_property(GLOBAL APPEND PROPERTY KAPPASCOPE_LAYERS ${target})
  endif()
endfunction()
