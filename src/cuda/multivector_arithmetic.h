// SPDX-License-Identifier: Apache-2.0
// Who adds what in which order, in the passes of multivector.cuh: all of their indices, for the
// device and, without CUDA, for a host that goes through the same loops in its tests.
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define KAPPASCOPE_HOST_DEVICE __host__ __device__
#else
#define KAPPASCOPE_HOST_DEVICE
#endif

namespace kappascope::cuda {

constexpr int kWarp = 32;
constexpr int kWarps = 8;  ///< of a block
constexpr int kThreads = kWarp * kWarps;
/// Columns that a thread reads at once, so that loads wait for each other's memory and not in turn;
/// each warp of a block then adds up one of them.
constexpr int kTile = kWarps;
/// Elements that a block goes through for all columns before it takes the next: w's stay in cache.
constexpr std::int64_t kPiece = 4096;
/// Columns of a launch: what a kernel's parameters have room for.
constexpr int kMostColumns = 128;
/// Elements of all columns that a block combines at once.
constexpr int kCombined = 32;

/// Columns [n] of one type, and what each is multiplied by when it is subtracted.
struct Group {
  const void* columns[kMostColumns];
  double factors[kMostColumns];
  int count;
};

struct Piece {
  std::int64_t begin, end;
};
KAPPASCOPE_HOST_DEVICE inline std::int64_t piece_count(std::int64_t n) {
  return n / kPiece + (n % kPiece != 0);
}
KAPPASCOPE_HOST_DEVICE inline Piece piece_of(std::int64_t number, std::int64_t n) {
  const std::int64_t begin = number * kPiece;
  return {begin, n - begin < kPiece ? n : begin + kPiece};
}

/// w_j - Σ factors_i column_i[j], one after the other; a column without a share is not read.
template <typename T>
KAPPASCOPE_HOST_DEVICE double subtracted(const Group& group, std::int64_t j, double w) {
  for (int tile = 0; tile < group.count; tile += kTile) {
    double values[kTile], factors[kTile];
    for (int i = 0; i < kTile; ++i) {
      const int c = tile + i;
      factors[i] = c < group.count ? group.factors[c] : 0;
      values[i] =
          factors[i] != 0 ? static_cast<double>(static_cast<const T*>(group.columns[c])[j]) : 0;
    }
    for (int i = 0; i < kTile; ++i) w = std::fma(-factors[i], values[i], w);
  }
  return w;
}

/// What `thread` has of the products of columns [tile, tile + kTile) with w over a piece.
template <typename T>
KAPPASCOPE_HOST_DEVICE void thread_products(
    const Group& group, int tile, const double* w, Piece piece, int thread, double (&sums)[kTile]) {
  for (int i = 0; i < kTile; ++i) sums[i] = 0;
  for (std::int64_t j = piece.begin + thread; j < piece.end; j += kThreads) {
    const double at = w[j];
    double values[kTile];
    for (int i = 0; i < kTile; ++i) {
      const int c = tile + i;
      values[i] =
          c < group.count ? static_cast<double>(static_cast<const T*>(group.columns[c])[j]) : 0;
    }
    for (int i = 0; i < kTile; ++i) sums[i] = std::fma(values[i], at, sums[i]);
  }
}

/// What `thread` has of w · w over a piece.
KAPPASCOPE_HOST_DEVICE inline double thread_square(const double* w, Piece piece, int thread) {
  double sum = 0;
  for (std::int64_t j = piece.begin + thread; j < piece.end; j += kThreads)
    sum = std::fma(w[j], w[j], sum);
  return sum;
}

/// What `thread` has of a column's sums over the pieces.
KAPPASCOPE_HOST_DEVICE inline double thread_total(const double* partial,
                                                  std::int64_t pieces,
                                                  int thread) {
  double sum = 0;
  for (std::int64_t p = thread; p < pieces; p += kThreads) sum += partial[p];
  return sum;
}

/// What `lane` of the warp that adds up a block's threads has of their sums; the warp's own follow
/// by halves (kWarp / 2 apart, then kWarp / 4, ...).
KAPPASCOPE_HOST_DEVICE inline double lane_sum(const double* threads, int lane) {
  double sum = 0;
  for (int warp = 0; warp < kWarps; ++warp) sum += threads[warp * kWarp + lane];
  return sum;
}

/// Element of Σ_l y_l column_l, from values that lie `stride` apart.
template <typename T>
KAPPASCOPE_HOST_DEVICE double combined(const T* values, int stride, const double* y, int count) {
  double sum = 0;
  for (int l = 0; l < count; ++l)
    sum = std::fma(static_cast<double>(values[l * stride]), y[l], sum);
  return sum;
}

}  // namespace kappascope::cuda
