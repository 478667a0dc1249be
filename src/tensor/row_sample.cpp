// SPDX-License-Identifier: Apache-2.0
#include "tensor/row_sample.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <numeric>

#include "core/require.h"

namespace kappascope::tensor {
namespace {

/// `count / stride` of `count` positions, rounded up, spread evenly from a random first.
template <typename Keep>
int64_t spread(int64_t count, int64_t stride, linalg::Random& random, const Keep& keep) {
  const int64_t kept = (count + stride - 1) / stride;
  const double start = kept == count ? 0 : random.uniform();
  for (int64_t i = 0; i < kept; ++i)
    keep(static_cast<int64_t>((static_cast<double>(i) + start) * static_cast<double>(count) /
                              static_cast<double>(kept)));
  return kept;
}

at::Tensor chosen(const at::Tensor& rows, const std::vector<int64_t>& indices) {
  return rows.index_select(0, torch::tensor(indices, torch::kLong).to(rows.device()));
}

}  // namespace

RowSample::RowSample(int64_t capacity, std::uint64_t seed) : capacity_(capacity), random_(seed) {
  require(capacity >= 1, "a sample keeps at least one row, not {}", capacity);
}

void RowSample::update(const at::Tensor& rows, const at::Tensor& mask, int64_t rows_per_group) {
  require(rows_per_group >= 1 && rows.size(0) % rows_per_group == 0,
          "sequences of {} do not divide {} rows",
          rows_per_group,
          rows.size(0));
  const torch::NoGradGuard no_grad;
  const auto valid = mask.defined() ? mask.cpu() : at::Tensor();
  std::vector<int64_t> indices, in_group;
  for (int64_t first = 0; first < rows.size(0); first += rows_per_group) {
    in_group.clear();
    for (int64_t i = first; i < first + rows_per_group; ++i)
      if (!valid.defined() || valid.const_data_ptr<bool>()[i]) in_group.push_back(i);
    if (in_group.empty() || groups_seen_++ % groups_stride_ != 0) continue;
    group_rows_.push_back(
        spread(std::ssize(in_group), rows_stride_, random_, [&](int64_t position) {
          indices.push_back(in_group[static_cast<std::size_t>(position)]);
        }));
  }
  if (indices.empty()) return;
  pieces_.push_back(chosen(rows.detach(), indices));
  kept_ += std::ssize(indices);
  while (kept_ > capacity_) thin();
}

void RowSample::thin() {
  const bool single = std::ranges::all_of(group_rows_, [](int64_t rows) { return rows == 1; });
  (single ? groups_stride_ : rows_stride_) *= 2;
  std::vector<int64_t> indices, groups;
  int64_t first = 0;
  for (std::size_t g = 0; g < group_rows_.size(); ++g) {
    const int64_t count = group_rows_[g];
    if (!single || g % 2 == 0)
      groups.push_back(spread(
          count, 2, random_, [&](int64_t position) { indices.push_back(first + position); }));
    first += count;
  }
  pieces_ = {chosen(rows(), indices)};
  group_rows_ = std::move(groups);
  kept_ = std::ssize(indices);
}

void RowSample::merge(const RowSample& other) {
  if (other.kept_ == 0) return;
  pieces_.push_back(pieces_.empty() ? other.rows() : other.rows().to(pieces_.front().options()));
  group_rows_.insert(group_rows_.end(), other.group_rows_.begin(), other.group_rows_.end());
  kept_ += other.kept_;
  rows_stride_ = std::max(rows_stride_, other.rows_stride_);
  groups_stride_ = std::max(groups_stride_, other.groups_stride_);
  while (kept_ > capacity_) thin();
}

void RowSample::limit(int64_t capacity) {
  capacity_ = std::max<int64_t>(1, capacity);
  while (kept_ > capacity_) thin();
}

at::Tensor RowSample::rows() const {
  require(!pieces_.empty(), "no row was kept");
  return pieces_.size() == 1 ? pieces_.front() : torch::cat(pieces_);
}

State RowSample::state() const {
  State out;
  out.set("capacity", capacity_);
  out.set("random", static_cast<std::int64_t>(random_.state()));
  out.set("rows_stride", rows_stride_);
  out.set("groups_stride", groups_stride_);
  out.set("groups_seen", groups_seen_);
  if (kept_ > 0) {
    out.set("rows", rows());
    out.set("group_rows", torch::tensor(group_rows_, torch::kLong));
  }
  return out;
}

void RowSample::load(const State& state, int64_t dimension) {
  RowSample read(state.integer("capacity"), static_cast<std::uint64_t>(state.integer("random")));
  read.rows_stride_ = state.integer("rows_stride");
  read.groups_stride_ = state.integer("groups_stride");
  read.groups_seen_ = state.integer("groups_seen");
  require(read.rows_stride_ >= 1 && read.groups_stride_ >= 1 && read.groups_seen_ >= 0,
          "a sample of rows has strides of {} and {} after {} sequences",
          read.rows_stride_,
          read.groups_stride_,
          read.groups_seen_);
  if (state.has("rows")) {
    const auto rows = state.floating_tensor("rows", {-1, dimension});
    const auto groups = state.tensor("group_rows", torch::kLong, {-1});
    read.group_rows_.assign(groups.const_data_ptr<int64_t>(),
                            groups.const_data_ptr<int64_t>() + groups.numel());
    const bool whole = std::ranges::all_of(
        read.group_rows_, [&](int64_t count) { return 1 <= count && count <= rows.size(0); });
    require(
        whole && std::accumulate(read.group_rows_.begin(), read.group_rows_.end(), int64_t{0}) ==
                     rows.size(0),
        "the sequences of a sample do not have its {} rows",
        rows.size(0));
    read.pieces_ = {rows};
    read.kept_ = rows.size(0);
  }
  *this = std::move(read);
}

}  // namespace kappascope::tensor
