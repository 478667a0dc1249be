// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "cuda/centre_rows.cuh"

namespace kappascope::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMostBlocks = 1 << 20;

// One block a row at a time: whether it is kept must be known before its first entry is written.
template <typename T>
__global__ void centre_each_row(const T* rows,
                                const bool* mask,
                                const float* shift,
                                float* centred,
                                bool* keep,
                                std::int64_t n,
                                std::int64_t d) {
  for (std::int64_t row = blockIdx.x; row < n; row += gridDim.x) {
    const T* in = rows + row * d;
    float* out = centred + row * d;
    bool finite = true;
    for (std::int64_t j = threadIdx.x; j < d; j += kThreads) {
      finite = finite && isfinite(static_cast<float>(in[j]));
    }
    const bool kept = __syncthreads_and(finite) != 0 && (mask == nullptr || mask[row]);
    for (std::int64_t j = threadIdx.x; j < d; j += kThreads) {
      out[j] = kept ? static_cast<float>(in[j]) - shift[j] : 0.0F;
    }
    if (threadIdx.x == 0) keep[row] = kept;
  }
}

}  // namespace

cudaError_t centre_rows(const void* rows,
                        RowType type,
                        const bool* mask,
                        const float* shift,
                        float* centred,
                        bool* keep,
                        std::int64_t n,
                        std::int64_t d,
                        cudaStream_t stream) {
  if (n == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>(n < kMostBlocks ? n : kMostBlocks);
  const auto launch = [&](const auto* typed) {
    centre_each_row<<<blocks, kThreads, 0, stream>>>(typed, mask, shift, centred, keep, n, d);
  };
  switch (type) {
    case RowType::kFloat:
      launch(static_cast<const float*>(rows));
      break;
    case RowType::kHalf:
      launch(static_cast<const __half*>(rows));
      break;
    case RowType::kBfloat16:
      launch(static_cast<const __nv_bfloat16*>(rows));
      break;
  }
  return cudaGetLastError();
}

}  // namespace kappascope::cuda
