# SPDX-License-Identifier: Apache-2.0
# The CUDA language, and what the kernels need of LibTorch added to kappascope::torch, where
# KAPPASCOPE_CUDA says so: OFF never, ON or stop, AUTO where the toolkit and LibTorch are there and fit together.
# Afterwards KAPPASCOPE_CUDA is ON or OFF; why the kernels are left out is said.

# `out` becomes empty where the kernels can be built, or the reason why not.
function(_kappascope_cuda_obstacle out)
  set(${out} "" PARENT_SCOPE)
  if(NOT EXISTS ${KAPPASCOPE_TORCH_DIR}/lib/libtorch_cuda.so)
    set(${out} "the LibTorch in ${KAPPASCOPE_TORCH_DIR} has no CUDA" PARENT_SCOPE)
    return()
  endif()
  if(NOT CUDAToolkit_FOUND OR NOT CUDAToolkit_NVCC_EXECUTABLE)
    set(${out} "there is no nvcc" PARENT_SCOPE)
    return()
  endif()
  if(EXISTS ${KAPPASCOPE_TORCH_DIR}/version.py)
    file(STRINGS ${KAPPASCOPE_TORCH_DIR}/version.py line REGEX "^cuda[^=]*= *'")
    string(REGEX MATCH "[0-9]+" major "${line}")
    if(major AND NOT major EQUAL CUDAToolkit_VERSION_MAJOR)
      set(${out} "LibTorch is for CUDA ${major}, the toolkit is ${CUDAToolkit_VERSION}" PARENT_SCOPE)
      return()
    endif()
  endif()
  if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    set(ENV{CUDACXX} ${CUDAToolkit_NVCC_EXECUTABLE})
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    set(${out} "nvcc does not compile with this compiler" PARENT_SCOPE)
  endif()
endfunction()

if(KAPPASCOPE_CUDA)
  find_package(CUDAToolkit QUIET)
  _kappascope_cuda_obstacle(obstacle)
  if(NOT obstacle)
    set(KAPPASCOPE_CUDA ON)
  elseif(KAPPASCOPE_CUDA STREQUAL AUTO)
    message(STATUS "CUDA kernels left out: ${obstacle}")
    set(KAPPASCOPE_CUDA OFF)
  else()
    message(FATAL_ERROR "KAPPASCOPE_CUDA=ON, but ${obstacle}")
  endif()
endif()
if(KAPPASCOPE_CUDA)
  set(CMAKE_CUDA_STANDARD 17)  # the newest that CMake 3.25 knows of nvcc 13
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90)
  endif()
  enable_language(CUDA)
  # Streams and the current device, which the kernels' callers ask for; libtorch_cuda itself is
  # loaded where a device is asked for (tensor/cuda_devices). Link-only: sources without CUDA keep
  # their flags, and with them the precompiled header.
  target_link_libraries(kappascope::torch INTERFACE $<LINK_ONLY:CUDA::cudart>
    ${KAPPASCOPE_TORCH_DIR}/lib/libc10_cuda.so)
endif()
