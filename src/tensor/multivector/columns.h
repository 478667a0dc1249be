// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "tensor/packed.h"

namespace kappascope::tensor {

// Sums are eight running ones, so that a loop goes several elements at a time without reordering
// one sum.
constexpr std::int64_t kLanes = 8;

template <typename T>
double dot(const T* __restrict a, const double* __restrict w, std::int64_t n) {
  std::array<double, kLanes> sums{};
  const auto whole = n / kLanes * kLanes;
  for (std::int64_t j = 0; j < whole; j += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      sums[static_cast<std::size_t>(lane)] += static_cast<double>(a[j + lane]) * w[j + lane];
    }
  }
  double sum = 0;
  for (const double lane : sums) sum += lane;
  for (auto j = whole; j < n; ++j) sum += static_cast<double>(a[j]) * w[j];
  return sum;
}

template <typename T>
void axpy(double factor, const T* __restrict a, double* __restrict w, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) w[j] += factor * static_cast<double>(a[j]);
}

/// factor · w as the integers of a block; n < kPackedBlock only at a vector's end. Returns the
/// block's own factor: NaN, with integers of 0, where w holds what is no number.
inline float pack_block(double factor, const double* w, std::int64_t n, std::int16_t* to) {
  constexpr double kMost = std::numeric_limits<std::int16_t>::max();
  std::array<double, kPackedBlock> block{};
  std::copy_n(w, n, block.begin());
  std::array<double, kLanes> most{}, odd{};
  for (std::size_t j = 0; j < kPackedBlock; j += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double element = block[j + lane], magnitude = std::abs(element);
      most[lane] = magnitude > most[lane] ? magnitude : most[lane];
      odd[lane] += element - element;
    }
  }
  const bool finite = std::all_of(odd.begin(), odd.end(), [](double zero) { return zero == 0; });
  const double step = std::abs(factor) * *std::max_element(most.begin(), most.end()) / kMost;
  // Below its normal numbers float32 has too few digits for a factor.
  const auto own = step < std::numeric_limits<float>::min() ? 0.0F : static_cast<float>(step);
  const double by = finite && own > 0 ? factor / static_cast<double>(own) : 0;
  for (std::size_t j = 0; j < kPackedBlock; ++j) {
    // Added and taken away again it rounds to whole numbers, several at a time.
    constexpr double kWhole = 0x1.8p52;
    const double whole = finite ? (by * block[j] + kWhole) - kWhole : 0;
    to[j] = static_cast<std::int16_t>(static_cast<std::int32_t>(whole));
  }
  return finite ? own : std::numeric_limits<float>::quiet_NaN();
}

/// A column as the host's kernels take it, elements [first, first + n) at a time; `first` is a
/// multiple of kPackedBlock.
template <typename T>
class PlainColumn {
 public:
  PlainColumn(const at::Tensor& column, std::int64_t /*length*/)
      : at_(column.mutable_data_ptr<T>()) {}

  double dot(std::int64_t first, std::int64_t n, const double* w) const {
    return tensor::dot(at_ + first, w, n);
  }
  void axpy(double factor, std::int64_t first, std::int64_t n, double* w) const {
    tensor::axpy(factor, at_ + first, w, n);
  }
  void read(std::int64_t first, std::int64_t n, double* to) const {
    std::copy_n(at_ + first, n, to);
  }
  void write(double factor, const double* from, std::int64_t first, std::int64_t n) const {
    for (std::int64_t j = 0; j < n; ++j) at_[first + j] = static_cast<T>(factor * from[j]);
  }

 private:
  T* at_;
};

/// The same of a packed column.
class PackedColumn {
 public:
  PackedColumn(const at::Tensor& column, std::int64_t length)
      : at_(column.mutable_data_ptr<std::int16_t>()),
        factors_(reinterpret_cast<float*>(at_ + (length + kPackedBlock - 1) / kPackedBlock *
                                                    kPackedBlock)) {}

  double dot(std::int64_t first, std::int64_t n, const double* w) const {
    double sum = 0;
    by_blocks(first, n, [&](float& own, std::int16_t* a, std::int64_t j, std::int64_t m) {
      sum += static_cast<double>(own) * tensor::dot(a, w + j, m);
    });
    return sum;
  }
  void axpy(double factor, std::int64_t first, std::int64_t n, double* w) const {
    by_blocks(first, n, [&](float& own, std::int16_t* a, std::int64_t j, std::int64_t m) {
      tensor::axpy(factor * static_cast<double>(own), a, w + j, m);
    });
  }
  template <typename T>
  void read(std::int64_t first, std::int64_t n, T* to) const {
    by_blocks(first, n, [&](float& own, std::int16_t* a, std::int64_t j, std::int64_t m) {
      for (std::int64_t i = 0; i < m; ++i) to[j + i] = static_cast<T>(own) * static_cast<T>(a[i]);
    });
  }
  void write(double factor, const double* from, std::int64_t first, std::int64_t n) const {
    by_blocks(first, n, [&](float& own, std::int16_t* a, std::int64_t j, std::int64_t m) {
      own = pack_block(factor, from + j, m, a);
    });
  }

 private:
  /// work(factor of a block, its integers, where it begins in the n elements, how many it has
  /// there)
  template <typename Work>
  void by_blocks(std::int64_t first, std::int64_t n, const Work& work) const {
    for (std::int64_t j = 0; j < n; j += kPackedBlock)
      work(factors_[(first + j) / kPackedBlock], at_ + first + j, j, std::min(kPackedBlock, n - j));
  }

  std::int16_t* at_;
  float* factors_;
};

}  // namespace kappascope::tensor
