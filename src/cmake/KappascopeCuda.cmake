# SPDX-License-Identifier: Apache-2.0
# With KAPPASCOPE_CUDA: the CUDA language, and the CUDA half of LibTorch added to kappascope::torch.
# Where the toolkit and LibTorch do not fit together the kernels are left out, and it is said why.

function(_kappascope_cuda_fits out)
  set(${out} OFF PARENT_SCOPE)
  if(NOT EXISTS ${KAPPASCOPE_TORCH_DIR}/lib/libtorch_cuda.so)
    message(STATUS "CUDA kernels left out: the LibTorch in ${KAPPASCOPE_TORCH_DIR} has no CUDA")
    return()
  endif()
  if(EXISTS ${KAPPASCOPE_TORCH_DIR}/version.py)
    file(STRINGS ${KAPPASCOPE_TORCH_DIR}/version.py line REGEX "^cuda[^=]*= *'")
    string(REGEX MATCH "[0-9]+" major "${line}")
    if(major AND NOT major EQUAL CUDAToolkit_VERSION_MAJOR)
      message(STATUS "CUDA kernels left out: LibTorch is for CUDA ${major}, "
                     "the toolkit is ${CUDAToolkit_VERSION}")
      return()
    endif()
  endif()
  set(${out} ON PARENT_SCOPE)
endfunction()

if(KAPPASCOPE_CUDA)
  find_package(CUDAToolkit REQUIRED)
  _kappascope_cuda_fits(KAPPASCOPE_CUDA)
endif()
if(KAPPASCOPE_CUDA)
  set(CMAKE_CUDA_STANDARD 17)  # the newest that CMake 3.25 knows of nvcc 13
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90)
  endif()
  enable_language(CUDA)
  # LibTorch registers its CUDA backend when its library is loaded, so it must not be dropped as
  # unused. Link-only: sources without CUDA keep their flags, and with them the precompiled header.
  target_link_libraries(kappascope::torch INTERFACE $<LINK_ONLY:CUDA::cudart>
    -Wl,--no-as-needed ${KAPPASCOPE_TORCH_DIR}/lib/libtorch_cuda.so
    ${KAPPASCOPE_TORCH_DIR}/lib/libc10_cuda.so -Wl,--as-needed)
endif()
