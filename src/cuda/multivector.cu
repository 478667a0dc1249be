// SPDX-License-Identifier: Apache-2.0
#include "cuda/multivector.cuh"

namespace kappascope::cuda {
namespace {

// Blocks of a grid: a few for each multiprocessor of any device; each takes every kBlocks-th piece.
constexpr std::int64_t kBlocks = 1024;

unsigned blocks_for(std::int64_t work) {
  return static_cast<unsigned>(work < kBlocks ? work : kBlocks);
}

/// The sum of kThreads numbers, in lane 0 of the calling warp.
__device__ double warp_sum(const double* threads) {
  double sum = lane_sum(threads, static_cast<int>(threadIdx.x) % kWarp);
  for (int apart = kWarp / 2; apart > 0; apart /= 2)
    sum += __shfl_down_sync(0xffffffffU, sum, static_cast<unsigned>(apart));
  return sum;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    pass_pieces(Group group, bool subtract, Sums sums, double* w, std::int64_t n, double* partial) {
  __shared__ double room[kTile][kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / kWarp;
  const bool first_lane = thread % kWarp == 0;
  const std::int64_t pieces = piece_count(n);
  for (std::int64_t p = blockIdx.x; p < pieces; p += gridDim.x) {
    const Piece piece = piece_of(p, n);
    // A thread multiplies the elements of w that it has written itself, and no others.
    if (subtract) {
      for (std::int64_t j = piece.begin + thread; j < piece.end; j += kThreads)
        w[j] = subtracted<T>(group, j, w[j]);
    }
    if (sums == Sums::kSquare) {
      room[0][thread] = thread_square(w, piece, thread);
      __syncthreads();
      if (warp == 0) {
        const double sum = warp_sum(room[0]);
        if (first_lane) partial[p] = sum;
      }
      __syncthreads();
    }
    if (sums == Sums::kColumns) {
      for (int tile = 0; tile < group.count; tile += kTile) {
        double mine[kTile];
        thread_products<T>(group, tile, w, piece, thread, mine);
        for (int i = 0; i < kTile; ++i) room[i][thread] = mine[i];
        __syncthreads();
        const double sum = warp_sum(room[warp]);
        if (first_lane && tile + warp < group.count) partial[(tile + warp) * pieces + p] = sum;
        __syncthreads();
      }
    }
  }
}

/// One block a sum.
__global__ void __launch_bounds__(kThreads)
    add_pieces(const double* partial, std::int64_t pieces, double* out) {
  __shared__ double room[kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  room[thread] = thread_total(partial + blockIdx.x * pieces, pieces, thread);
  __syncthreads();
  if (thread >= kWarp) return;
  const double sum = warp_sum(room);
  if (thread == 0) out[blockIdx.x] = sum;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    combine_elements(Group group, const double* y, int k, std::int64_t n) {
  __shared__ T values[kMostColumns][kCombined];
  const int element = static_cast<int>(threadIdx.x) % kCombined;
  const int row = static_cast<int>(threadIdx.x) / kCombined;
  constexpr int kRows = kThreads / kCombined;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kCombined;
  for (std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kCombined; begin < n;
       begin += step) {
    const std::int64_t j = begin + element;
    // All of these elements are read before the first of them is written.
    if (j < n) {
      for (int l = row; l < group.count; l += kRows)
        values[l][element] = static_cast<const T*>(group.columns[l])[j];
    }
    __syncthreads();
    if (j < n) {
      for (int i = row; i < k; i += kRows) {
        auto* to = static_cast<T*>(const_cast<void*>(group.columns[i]));
        to[j] = static_cast<T>(
            combined(&values[0][element], kCombined, y + i * group.count, group.count));
      }
    }
    __syncthreads();
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    store_elements(double factor, const double* w, T* column, std::int64_t n) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; j < n;
       j += step)
    column[j] = static_cast<T>(factor * w[j]);
}

}  // namespace

std::int64_t partial_sums(std::int64_t n, int sums) {
  return piece_count(n) * sums;
}

cudaError_t pass(const Group& group,
                 RealType type,
                 bool subtract,
                 Sums sums,
                 double* w,
                 std::int64_t n,
                 double* partial,
                 double* out,
                 cudaStream_t stream) {
  const std::int64_t pieces = piece_count(n);
  if (pieces > 0) {
    const auto kernel = type == RealType::kDouble ? pass_pieces<double> : pass_pieces<float>;
    kernel<<<blocks_for(pieces), kThreads, 0, stream>>>(group, subtract, sums, w, n, partial);
  }
  const int count = sums == Sums::kNone ? 0 : sums == Sums::kSquare ? 1 : group.count;
  if (count > 0)
    add_pieces<<<static_cast<unsigned>(count), kThreads, 0, stream>>>(partial, pieces, out);
  return cudaGetLastError();
}

cudaError_t combine(const Group& group,
                    RealType type,
                    const double* y,
                    int k,
                    std::int64_t n,
                    cudaStream_t stream) {
  if (n == 0 || k == 0) return cudaSuccess;
  const auto kernel =
      type == RealType::kDouble ? combine_elements<double> : combine_elements<float>;
  kernel<<<blocks_for((n - 1) / kCombined + 1), kThreads, 0, stream>>>(group, y, k, n);
  return cudaGetLastError();
}

cudaError_t store(double factor,
                  const double* w,
                  void* column,
                  RealType type,
                  std::int64_t n,
                  cudaStream_t stream) {
  if (n == 0) return cudaSuccess;
  const auto launch = [&](auto* to) {
    store_elements<<<blocks_for((n - 1) / kThreads + 1), kThreads, 0, stream>>>(factor, w, to, n);
  };
  if (type == RealType::kDouble) {
    launch(static_cast<double*>(column));
  } else {
    launch(static_cast<float*>(column));
  }
  return cudaGetLastError();
}

}  // namespace kappascope::cuda
