# SPDX-License-Identifier: Apache-2.0
# With KAPPASCOPE_CUDA: the CUDA language, and the CUDA half of LibTorch added to kappascope::torch.
if(NOT KAPPASCOPE_CUDA)
  return()
endif()
if(NOT EXISTS ${KAPPASCOPE_TORCH_DIR}/lib/libtorch_cuda.so)
  message(FATAL_ERROR "KAPPASCOPE_CUDA is on, but the LibTorch in ${KAPPASCOPE_TORCH_DIR} has no CUDA: "
          "use one that has, or the preset release")
endif()
set(CMAKE_CUDA_STANDARD 17)  # the newest that CMake 3.25 knows of nvcc 13
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80 90)
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
# LibTorch registers its CUDA backend when its library is loaded, so it must not be dropped as unused.
# Link-only: sources without CUDA keep their flags, and with them the precompiled header.
target_link_libraries(kappascope::torch INTERFACE $<LINK_ONLY:CUDA::cudart>
  -Wl,--no-as-needed ${KAPPASCOPE_TORCH_DIR}/lib/libtorch_cuda.so ${KAPPASCOPE_TORCH_DIR}/lib/libc10_cuda.so
  -Wl,--as-needed)
