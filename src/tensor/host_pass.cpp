// SPDX-License-Identifier: Apache-2.0
#include "tensor/host_pass.h"

#include <ATen/Parallel.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "tensor/parallel.h"

namespace kappascope::tensor {
namespace {

// Differences of a thread at once: about a core's own cache, but rows enough for a fast product.
constexpr std::int64_t kChunkBytes = 1 << 20;
constexpr std::int64_t kFewestChunkRows = 512;
// Rows that are added in their own type before their sum goes into double.
constexpr std::int64_t kPieceRows = 128;

// The calling thread's room for `count` numbers; kept, as new pages cost more than the pass.
template <typename T>
T* room(std::int64_t count) {
  thread_local std::vector<T> mine;
  if (static_cast<std::int64_t>(mine.size()) < count) mine.resize(static_cast<std::size_t>(count));
  return mine.data();
}

// to = from - about; whether all of `from` is finite. The exponent's bits are looked at, as a loop
// of integers goes several at a time.
template <typename T>
bool subtract(const T* __restrict from, const T* __restrict about, T* __restrict to, int64_t d) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr auto kExponent = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  Bits bad = 0;
  for (int64_t j = 0; j < d; ++j) {
    to[j] = from[j] - about[j];
    bad |= static_cast<Bits>((std::bit_cast<Bits>(from[j]) & kExponent) == kExponent);
  }
  return bad == 0;
}

}  // namespace

HostPass::HostPass(const LowerTriangle& triangle,
                   const at::Tensor& rows,
                   const at::Tensor& mask,
                   const at::Tensor& shift,
                   std::int64_t rows_per_group)
    : triangle_(triangle),
      rows_(rows),
      shift_(shift),
      rows_per_sum_(rows_per_group == 1 ? rows.size(0) : rows_per_group),
      sums_(torch::zeros({rows.size(0) / rows_per_sum_, rows.size(1)}, torch::kDouble)),
      squares_(torch::zeros_like(sums_)),
      powers_(torch::zeros({3, rows.size(1)}, torch::kDouble)),
      non_finite_(static_cast<std::size_t>(rows.size(0)), 0) {
  if (mask.defined()) mask_ = mask.to(torch::kBool).contiguous();
}

// Differences of rows [first, first + n), zero where a row is left out.
template <typename T>
void HostPass::centre_rows(std::int64_t first, std::int64_t n, T* differences, bool record) {
  const auto d = rows_.size(1);
  const auto* about = shift_.const_data_ptr<T>();
  const auto* in_mask = mask_.defined() ? mask_.const_data_ptr<bool>() : nullptr;
  for (auto i = first; i < first + n; ++i) {
    T* to = differences + (i - first) * d;
    const bool wanted = in_mask == nullptr || in_mask[i];
    const bool finite = wanted && subtract(rows_.const_data_ptr<T>() + i * d, about, to, d);
    if (finite) continue;
    std::fill(to, to + d, T(0));
    if (record && wanted) non_finite_[static_cast<std::size_t>(i)] = 1;
  }
}

// ‖y‖² of every difference y.
template <typename T>
std::vector<double> squared_lengths(const T* differences, std::int64_t n, std::int64_t d) {
  std::vector<double> lengths(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const Eigen::Map<const Eigen::VectorX<T>> y(differences + i * d, d);
    lengths[static_cast<std::size_t>(i)] = y.template cast<double>().squaredNorm();
  }
  return lengths;
}

// Adds the columns [first_column, last_column) of the differences to all sums.
template <typename T>
void HostPass::add_sums(std::int64_t first,
                        std::int64_t n,
                        const T* differences,
                        const std::vector<double>& lengths,
                        std::int64_t first_column,
                        std::int64_t last_column) {
  const auto d = rows_.size(1), columns = last_column - first_column;
  std::vector<T> partial(static_cast<std::size_t>(2 * columns));
  double* __restrict cubed = powers_.mutable_data_ptr<double>() + first_column;
  double* __restrict fourth = cubed + d;
  double* __restrict along = fourth + d;
  for (auto row = first; row < first + n;) {
    const auto group = row / rows_per_sum_;
    const auto end = std::min({row + kPieceRows, (group + 1) * rows_per_sum_, first + n});
    std::fill(partial.begin(), partial.end(), T(0));
    T* __restrict sum = partial.data();
    T* __restrict squares = sum + columns;
    for (; row < end; ++row) {
      const T* __restrict from = differences + (row - first) * d + first_column;
      const double length = lengths[static_cast<std::size_t>(row - first)];
      for (int64_t j = 0; j < columns; ++j) {
        const double y = from[j], square = y * y;
        sum[j] += from[j];
        squares[j] += from[j] * from[j];
        cubed[j] += square * y;
        fourth[j] += square * square;
        along[j] += length * y;
      }
    }
    double* __restrict total = sums_.mutable_data_ptr<double>() + group * d + first_column;
    double* __restrict total_squares =
        squares_.mutable_data_ptr<double>() + group * d + first_column;
    for (int64_t j = 0; j < columns; ++j) {
      total[j] += sum[j];
      total_squares[j] += squares[j];
    }
  }
}

template <typename T>
void HostPass::work(std::int64_t worker,
                    std::int64_t workers,
                    std::int64_t first,
                    std::int64_t n,
                    double scale,
                    const at::Tensor& packed) {
  const torch::NoGradGuard no_grad;
  const auto d = rows_.size(1), pairs = triangle_.pairs();
  const auto chunk =
      std::max(kChunkBytes / (d * static_cast<std::int64_t>(sizeof(T))), kFewestChunkRows);
  for (auto begin = first; begin < first + n; begin += chunk) {
    const auto count = std::min(chunk, first + n - begin);
    T* differences = room<T>(count * d);
    centre_rows(begin, count, differences, /*record=*/worker == 0);
    const auto lengths = squared_lengths(differences, count, d);
    if (worker == 0) {
      for (const double length : lengths) length_fourth_ += length * length;
    }
    add_sums(begin, count, differences, lengths, worker * d / workers, (worker + 1) * d / workers);
    const auto centred = torch::from_blob(differences, {count, d}, shift_.options());
    for (auto pair = worker * pairs / workers; pair < (worker + 1) * pairs / workers; ++pair)
      triangle_.add_pair(pair, centred, begin == first ? scale : 1, packed);
  }
}

void HostPass::run(std::int64_t first, std::int64_t n, double scale, const at::Tensor& packed) {
  const auto workers = std::min<std::int64_t>(triangle_.pairs(), at::get_num_threads());
  parallel_tasks(workers, [&](std::int64_t worker) {
    if (shift_.scalar_type() == torch::kDouble) {
      work<double>(worker, workers, first, n, scale, packed);
    } else {
      work<float>(worker, workers, first, n, scale, packed);
    }
  });
}

RowSums HostPass::result() const {
  RowSums out;
  out.sums = sums_;
  out.squares = squares_;
  out.powers = powers_;
  out.length_fourth = length_fourth_;
  out.keep = mask_;
  out.nonfinite = std::count(non_finite_.begin(), non_finite_.end(), 1);
  if (out.nonfinite > 0) {
    const auto finite = torch::tensor(at::ArrayRef<std::uint8_t>(non_finite_)) == 0;
    out.keep = mask_.defined() ? mask_ & finite : finite;
  }
  out.kept = out.keep.defined() ? out.keep.sum().item<std::int64_t>() : rows_.size(0);
  return out;
}

}  // namespace kappascope::tensor
