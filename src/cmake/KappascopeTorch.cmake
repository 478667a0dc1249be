# SPDX-License-Identifier: Apache-2.0
# Finds LibTorch and defines kappascope::torch (CPU libraries linked directly: the package's own
# find_package(Torch) stops on a machine without the CUDA toolkit, ours must not).
#
# Looked up in this order: KAPPASCOPE_TORCH_DIR, every CMAKE_PREFIX_PATH entry (a LibTorch archive
# or a Python package folder), the project's .venv, the python3 on PATH.

set(KAPPASCOPE_TORCH_MIN 2.10)
set(KAPPASCOPE_TORCH_BELOW 2.16)

function(_kappascope_torch_version dir out)
  set(${out} "" PARENT_SCOPE)
  foreach(header include/torch/headeronly/version.h include/torch/csrc/api/include/torch/version.h)
    if(EXISTS ${dir}/${header})
      file(STRINGS ${dir}/${header} lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
      if(lines)
        string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
        list(JOIN numbers "." version)
        set(${out} ${version} PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

function(_kappascope_find_torch out)
  set(candidates ${KAPPASCOPE_TORCH_DIR})
  foreach(prefix ${CMAKE_PREFIX_PATH})
    list(APPEND candidates ${prefix} ${prefix}/torch ${prefix}/../..)
  endforeach()
  foreach(python ${PROJECT_SOURCE_DIR}/.venv/bin/python3 python3)
    execute_process(
      COMMAND ${python} -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
      OUTPUT_VARIABLE dir OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE rc)
    if(rc EQUAL 0)
      list(APPEND candidates ${dir})
    endif()
  endforeach()
  set(seen "")
  foreach(dir ${candidates})
    if(EXISTS ${dir}/lib/libtorch_cpu.so)
      _kappascope_torch_version(${dir} version)
      if(version VERSION_GREATER_EQUAL KAPPASCOPE_TORCH_MIN AND version VERSION_LESS KAPPASCOPE_TORCH_BELOW)
        file(REAL_PATH ${dir} dir)
        set(${out} ${dir} PARENT_SCOPE)
        message(STATUS "LibTorch ${version}: ${dir}")
        return()
      endif()
      string(APPEND seen "\n  ${dir} has version '${version}'")
    endif()
  endforeach()
  message(FATAL_ERROR "LibTorch >= ${KAPPASCOPE_TORCH_MIN}, < ${KAPPASCOPE_TORCH_BELOW} was not found.${seen}\n"
          "Install it (pip install torch==2.11.0 into .venv, or ./quickstart does it), or name its "
          "folder with -DKAPPASCOPE_TORCH_DIR=... or CMAKE_PREFIX_PATH; "
          "-DKAPPASCOPE_TORCH=OFF builds the layers that do not need it.")
endfunction()

# As a script (cmake -DONLY_LOOK=ON -P) this file only tells by its exit status whether there is one.
if(ONLY_LOOK)
  cmake_path(SET PROJECT_SOURCE_DIR NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../..)
  _kappascope_find_torch(KAPPASCOPE_TORCH_FOUND)
  return()
endif()

if(NOT TARGET kappascope::torch)
  _kappascope_find_torch(KAPPASCOPE_TORCH_FOUND)
  set(KAPPASCOPE_TORCH_DIR ${KAPPASCOPE_TORCH_FOUND} CACHE PATH "Folder of LibTorch (has include/ and lib/)" FORCE)
  add_library(kappascope::torch INTERFACE IMPORTED GLOBAL)
  set_target_properties(kappascope::torch PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES
      "${KAPPASCOPE_TORCH_DIR}/include;${KAPPASCOPE_TORCH_DIR}/include/torch/csrc/api/include"
    INTERFACE_LINK_LIBRARIES
      "${KAPPASCOPE_TORCH_DIR}/lib/libtorch_cpu.so;${KAPPASCOPE_TORCH_DIR}/lib/libc10.so"
    # The CUDA libraries that libtorch_cpu names lie beside it; they are found when it is loaded.
    INTERFACE_LINK_OPTIONS "LINKER:--allow-shlib-undefined;LINKER:--unresolved-symbols=ignore-in-shared-libs")
endif()

# LibTorch ships the headers of a newer fmt without its library; this folder is searched first and
# has the ones that fit the library that was found.
function(_kappascope_fmt_folder out)
  set(fmt_folder ${PROJECT_BINARY_DIR}/fmt)
  if(NOT EXISTS ${fmt_folder}/fmt/format.h)
    get_target_property(headers fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
    file(MAKE_DIRECTORY ${fmt_folder})
    file(CREATE_LINK ${headers}/fmt ${fmt_folder}/fmt SYMBOLIC)
  endif()
  set(${out} ${fmt_folder} PARENT_SCOPE)
endfunction()
function(_kappascope_own_fmt_first target)
  _kappascope_fmt_folder(fmt_folder)
  target_include_directories(${target} SYSTEM BEFORE PRIVATE ${fmt_folder})
endfunction()

# For every target that includes LibTorch: one precompiled header of what most sources use. All of
# <torch/torch.h> would take each of them 7 s more, for its templates.
# The reuse needs identical flags, so programs are compiled as the libraries are (-fPIC).
# TESTS: with the test framework in it, and without optimisation that tests do not need.
function(kappascope_use_torch target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "TESTS" "" "")
  set(pch kappascope_torch_pch)
  if(ARG_TESTS)
    set(pch kappascope_torch_tests_pch)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(NOT TARGET ${pch})
    file(WRITE ${PROJECT_BINARY_DIR}/${pch}.cpp "")
    add_library(${pch} STATIC ${PROJECT_BINARY_DIR}/${pch}.cpp)
    target_link_libraries(${pch} PUBLIC kappascope::torch fmt::fmt)
    target_compile_features(${pch} PUBLIC cxx_std_20)
    target_compile_options(${pch} PRIVATE
      $<TARGET_PROPERTY:kappascope_warnings,INTERFACE_COMPILE_OPTIONS>)
    target_precompile_headers(${pch} PRIVATE
      <torch/types.h> <torch/autograd.h> <torch/utils.h> <torch/serialize/archive.h>
      <torch/nn/module.h> <torch/nn/cloneable.h> <torch/nn/modules/linear.h>
      <torch/nn/modules/container/modulelist.h> <torch/nn/functional/loss.h>
      <torch/optim/optimizer.h> <fmt/format.h>)
    _kappascope_own_fmt_first(${pch})
    if(ARG_TESTS)
      target_compile_options(${pch} PRIVATE $<$<CONFIG:Release>:-O1>)
      target_link_libraries(${pch} PRIVATE Catch2::Catch2)
      target_include_directories(${pch} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
      target_precompile_headers(${pch} PRIVATE <support/catch.h>)
    endif()
  endif()
  _kappascope_own_fmt_first(${target})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${pch})
endfunction()
