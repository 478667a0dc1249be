// SPDX-License-Identifier: Apache-2.0
#include "tensor/magnitudes.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "core/require.h"
#include "kappascope/core/statistics.h"
#include "tensor/finite_rows.h"

namespace kappascope::tensor {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// An 8-bit format.
struct Format {
  double largest;     ///< its largest finite number
  double to_nothing;  ///< half of its smallest: this and less is rounded to 0, ties being even
};
const Format kE4m3{448, std::ldexp(1.0, -10)};
const Format kE5m2{57344, std::ldexp(1.0, -17)};
constexpr int kE4m3Exponent = 8;  // of its largest power of two
constexpr int64_t kMxBlock = 32;

std::vector<double> sums_by_group(const at::Tensor& of_rows, const std::vector<int64_t>& groups) {
  const auto host = of_rows.to(torch::kDouble).cpu().contiguous();
  const std::span<const double> values(host.const_data_ptr<double>(),
                                       static_cast<std::size_t>(host.numel()));
  std::vector<double> sums;
  sums.reserve(groups.size());
  std::size_t first = 0;
  for (const auto count : groups) {
    double sum = 0;
    for (const double value : values.subspan(first, static_cast<std::size_t>(count))) sum += value;
    sums.push_back(sum);
    first += static_cast<std::size_t>(count);
  }
  return sums;
}

/// The values of a tensor by their rank. On the host each rank is selected among those between its
/// neighbours that were, several times faster than a sort; on a device they are sorted.
class Ranks {
 public:
  explicit Ranks(const at::Tensor& values) : values_(values.flatten()) {
    values_ = values_.is_cpu() ? values_.clone() : std::get<0>(values_.sort());
  }

  [[nodiscard]] int64_t size() const { return values_.numel(); }
  /// Number `rank` in ascending order, from 0.
  double at(int64_t rank) {
    if (!values_.is_cpu()) return values_[rank].item<double>();
    return values_.scalar_type() == torch::kDouble ? select<double>(rank) : select<float>(rank);
  }

 private:
  template <typename Real>
  double select(int64_t rank) {
    auto* data = values_.data_ptr<Real>();
    const auto above = placed_.lower_bound(rank);
    if (above == placed_.end() || *above != rank) {
      const auto from = above == placed_.begin() ? 0 : *std::prev(above) + 1;
      const auto to = above == placed_.end() ? size() : *above;
      std::nth_element(data + from, data + rank, data + to);
      placed_.insert(rank);
    }
    return static_cast<double>(data[rank]);
  }

  at::Tensor values_;
  std::set<int64_t> placed_;  // ranks whose values stand in their places
};

/// |φ| of the finite rows, and what the intervals need of their sequences.
class Values {
 public:
  Values(const at::Tensor& rows, std::vector<int64_t> group_rows)
      : sizes_(rows.scalar_type() == torch::kDouble ? rows.abs() : rows.abs().to(torch::kFloat)),
        ranks_(sizes_),
        groups_(std::move(group_rows)) {
    for (const auto count : groups_)
      of_groups_.push_back(static_cast<double>(count * sizes_.size(1)));
  }

  [[nodiscard]] const at::Tensor& sizes() const { return sizes_; }
  [[nodiscard]] const std::vector<int64_t>& groups() const { return groups_; }

  /// The size that a share of the values stays at or below, between the sizes at the ends of that
  /// share's own interval.
  [[nodiscard]] Magnitude quantile(double level) {
    const double value = size_at(level);
    const auto found =
        clustered_share(sums_by_group((sizes_ <= value).sum(1), groups_), of_groups_);
    if (groups_.size() < 2) return {value, kNaN, kNaN};
    // The interval's offsets from the share seen, which ties can lift far above the level.
    const double below = level - (found.share - found.interval.lower);
    const double above = level + (found.interval.upper - found.share);
    return {value, size_at(below), size_at(above)};
  }

  /// Of values with a property among those of `all`: [n, d] bool both.
  [[nodiscard]] Magnitude share(const at::Tensor& with, const at::Tensor& all) const {
    const auto found =
        clustered_share(sums_by_group(with.sum(1), groups_), sums_by_group(all.sum(1), groups_));
    if (groups_.size() < 2) return {found.share, kNaN, kNaN};
    return {found.share, found.interval.lower, found.interval.upper};
  }

 private:
  [[nodiscard]] double size_at(double level) {
    const auto n = ranks_.size();
    const auto place = static_cast<int64_t>(std::ceil(level * static_cast<double>(n))) - 1;
    return ranks_.at(std::clamp<int64_t>(place, 0, n - 1));
  }

  at::Tensor sizes_;
  Ranks ranks_;
  std::vector<int64_t> groups_;
  std::vector<double> of_groups_;
};

/// Sums of φ² by channel of each of up to 8 blocks of sequences: [blocks, d], on the host.
at::Tensor squares_by_block(const Values& values) {
  constexpr int64_t kBlocks = 8;
  const auto& groups = values.groups();
  const auto blocks = std::min<int64_t>(kBlocks, std::ssize(groups));
  const auto squares = values.sizes().to(torch::kDouble).square();
  auto sums = torch::zeros({blocks, squares.size(1)}, squares.options());
  int64_t first = 0;
  for (int64_t g = 0; g < std::ssize(groups); ++g) {
    const auto block = g * blocks / std::ssize(groups);
    const auto count = groups[static_cast<std::size_t>(g)];
    sums[block] += squares.narrow(0, first, count).sum(0);
    first += count;
  }
  return sums.cpu();
}

/// Of sums of φ² by channel: [..., d].
at::Tensor kurtosis_of(const at::Tensor& sums) {
  return static_cast<double>(sums.size(-1)) * sums.square().sum(-1) / sums.sum(-1).square();
}

Magnitude channel_kurtosis(const Values& values) {
  const auto sums = squares_by_block(values);
  const auto total = sums.sum(0);
  const double whole = kurtosis_of(total).item<double>();
  const auto blocks = static_cast<double>(sums.size(0));
  if (blocks < 2) return {whole, kNaN, kNaN};
  const auto without = kurtosis_of(total.unsqueeze(0) - sums);
  const double mean = without.mean().item<double>();
  const double value = blocks * whole - (blocks - 1) * mean;
  const double error =
      std::sqrt((blocks - 1) / blocks * (without - mean).square().sum().item<double>());
  const double half = student_quantile(0.975, blocks - 1) * error;
  return {value, value - half, value + half};
}

/// The power of two that a block of 32 neighbouring channels is divided by, at each of its values.
at::Tensor block_scales(const at::Tensor& sizes) {
  const auto n = sizes.size(0), d = sizes.size(1);
  const auto blocks = (d + kMxBlock - 1) / kMxBlock;
  const auto largest = torch::constant_pad_nd(sizes, {0, blocks * kMxBlock - d})
                           .view({n, blocks, kMxBlock})
                           .amax(-1, true);
  // frexp's mantissa lies in [1/2, 1).
  const auto exponent = std::get<1>(torch::frexp(largest)) - 1 - kE4m3Exponent;
  return torch::ldexp(torch::ones_like(largest), exponent)
      .expand({n, blocks, kMxBlock})
      .reshape({n, blocks * kMxBlock})
      .narrow(1, 0, d);
}

}  // namespace

Magnitudes magnitudes(const at::Tensor& rows,
                      const std::vector<int64_t>& group_rows,
                      double largest) {
  const torch::NoGradGuard no_grad;
  auto finite = finite_rows(rows, group_rows);
  Magnitudes found;
  found.rows = finite.rows.size(0);
  found.groups = std::ssize(finite.group_rows);
  if (finite.rows.numel() == 0) {
    const Magnitude none{kNaN, kNaN, kNaN};
    found.median = found.p99 = found.channel_kurtosis = found.zeros = none;
    found.lost_e4m3 = found.lost_e5m2 = found.lost_mxfp8 = none;
    return found;
  }
  Values values(finite.rows, std::move(finite.group_rows));
  const auto& sizes = values.sizes();
  found.median = values.quantile(0.5);
  found.p99 = values.quantile(0.99);
  found.channel_kurtosis = channel_kurtosis(values);
  const auto any = sizes > 0;
  found.zeros = values.share(any.logical_not(), torch::ones_like(any));
  const auto lost = [&](const at::Tensor& limit) {
    return values.share(any.logical_and(sizes <= limit), any);
  };
  const auto scaled = [&](const Format& format) {
    return lost(torch::tensor(format.to_nothing * largest / format.largest, sizes.options()));
  };
  found.lost_e4m3 = scaled(kE4m3);
  found.lost_e5m2 = scaled(kE5m2);
  found.lost_mxfp8 = lost(block_scales(sizes) * kE4m3.to_nothing);
  return found;
}

}  // namespace kappascope::tensor
