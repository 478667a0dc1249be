// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/moments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/torch.h>

#include <algorithm>

#include "kappascope/core/error.h"
#include "kappascope/tensor/convert.h"
#include "tensor/centre.h"
#include "tensor/lower_triangle.h"

namespace kappascope::tensor {

MomentAccumulator::MomentAccumulator(int64_t dimension, linalg::MomentOptions options)
    : dimension_(dimension),
      reservoir_(options.sample_rows, dimension, options.seed),
      triangle_(std::make_shared<LowerTriangle>(dimension)) {
  require(dimension > 0, "moments need at least one feature, got ", dimension);
}

void MomentAccumulator::start(const at::Tensor& rows) {
  // The mean of the first rows that are finite lies near the data; rounded to the rows' type it is
  // still an exact shift.
  const auto finite = rows.isfinite().all(1);
  auto good = rows.index({finite});
  if (good.size(0) == 0) good = torch::zeros({1, dimension_}, rows.options());
  // A constant feature keeps its constant: mean of differences to the first row, added back.
  const auto first = good[0];
  shift_ = first + (good - first).mean(0);
  const auto wide = rows.options().dtype(torch::kDouble);
  sum_ = torch::zeros({dimension_}, wide);
  cross_ = torch::zeros({dimension_, dimension_}, wide);
  if (rows.scalar_type() != torch::kDouble)
    block_ = torch::zeros({dimension_, dimension_}, rows.options());
}

void MomentAccumulator::update(const at::Tensor& rows,
                               const at::Tensor& mask,
                               int64_t rows_per_group) {
  torch::NoGradGuard no_grad;
  require(rows.dim() == 2 && rows.size(1) == dimension_,
          "expected rows of ",
          dimension_,
          " features, got ",
          fmt::format("{}", fmt::join(rows.sizes(), " x ")));
  require(rows_per_group > 0 && rows.size(0) % rows_per_group == 0,
          "groups of ",
          rows_per_group,
          " rows do not divide ",
          rows.size(0),
          " rows");
  require(rows_per_group_ == 0 || (rows_per_group_ > 1) == (rows_per_group > 1),
          "rows came ",
          rows_per_group_ > 1 ? "in sequences, now singly" : "singly, now in sequences");
  require(!mask.defined() || (mask.dim() == 1 && mask.size(0) == rows.size(0)),
          "the mask must have ",
          rows.size(0),
          " entries");
  if (rows.size(0) == 0) return;
  rows_per_group_ = rows_per_group;
  const auto values = rows.detach();
  const auto type = values.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat;
  if (!shift_.defined()) start(values.to(type));
  require(type == shift_.scalar_type(), "rows changed between double and float");
  if (values.is_cpu() && triangle_->suits_host_threads()) {
    const auto same = values.to(type).contiguous();
    const auto seen = sum_rows(same, mask, shift_, rows_per_group);
    count(values, seen, rows_per_group);
    multiply(same, [&](const at::Tensor& part, int64_t first, double scale, const at::Tensor& out) {
      const auto keep = seen.keep.defined() ? seen.keep.narrow(0, first, part.size(0)) : seen.keep;
      triangle_->add_centred_product(part, keep, shift_, scale, out);
    });
  } else {
    const auto centred = centre(values, mask, shift_, rows_per_group);
    count(values, centred, rows_per_group);
    multiply(centred.rows,
             [&](const at::Tensor& part, int64_t, double scale, const at::Tensor& out) {
               triangle_->add_product(part, scale, out);
             });
  }
}

void MomentAccumulator::count(const at::Tensor& rows, const RowSums& seen, int64_t rows_per_group) {
  n_ += seen.kept;
  nonfinite_ += seen.nonfinite;
  sum_.add_(seen.sums.sum(0));
  if (rows_per_group > 1) add_groups(seen.sums, seen.keep, rows_per_group);
  keep_sample(seen.keep.defined() ? rows.index({seen.keep}) : rows);
}

template <typename Product>
void MomentAccumulator::multiply(const at::Tensor& rows, const Product& product) {
  for (int64_t first = 0; first < rows.size(0);) {
    const auto n = std::min(kBlockRows, rows.size(0) - first);
    if (block_rows_ + n > kBlockRows) flush();
    // A block that was merged is overwritten.
    const double scale = block_.defined() && block_rows_ == 0 ? 0 : 1;
    product(rows.narrow(0, first, n), first, scale, block_.defined() ? block_ : cross_);
    block_rows_ += n;
    first += n;
  }
}

void MomentAccumulator::add_groups(const at::Tensor& totals,
                                   const at::Tensor& keep,
                                   int64_t rows_per_group) {
  const auto groups = totals.size(0);
  auto members = torch::full({groups}, static_cast<double>(rows_per_group), totals.options());
  if (keep.defined()) members = keep.view({groups, rows_per_group}).sum(1).to(torch::kDouble);
  if (!group_rows_sum_.defined()) {
    group_rows_sum_ = torch::zeros_like(sum_);
    group_sum_squared_ = torch::zeros_like(sum_);
  }
  groups_ += (members > 0).sum().item<int64_t>();
  group_rows_squared_ += members.square().sum().item<double>();
  group_rows_sum_.add_(totals.mul(members.unsqueeze(1)).sum(0));
  group_sum_squared_.add_(totals.square().sum(0));
}

void MomentAccumulator::keep_sample(const at::Tensor& rows) {
  const auto choices = reservoir_.choose(rows.size(0));
  if (choices.empty()) return;
  std::vector<int64_t> sources;
  sources.reserve(choices.size());
  for (const auto& choice : choices) sources.push_back(choice.source);
  const auto chosen =
      rows.index_select(0, torch::tensor(sources, rows.options().dtype(torch::kLong)))
          .to(torch::kCPU, torch::kFloat)
          .contiguous();
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Eigen::Map<const Eigen::RowVectorXf> row(
        chosen.const_data_ptr<float>() + static_cast<int64_t>(i) * dimension_, dimension_);
    reservoir_.put(choices[i].slot, row);
  }
}

void MomentAccumulator::flush() const {
  if (!block_.defined() || block_rows_ == 0) return;
  triangle_->add(block_, cross_);
  block_rows_ = 0;
}

linalg::Moments MomentAccumulator::result() const {
  torch::NoGradGuard no_grad;
  linalg::MomentSums sums(dimension_);
  sums.nonfinite_rows = nonfinite_;
  if (n_ > 0) {
    flush();
    sums.n = n_;
    sums.shift = to_vector(shift_);
    sums.sum = to_vector(sum_);
    sums.cross = to_matrix(cross_);
    if (rows_per_group_ > 1) {
      sums.groups = groups_;
      sums.group_rows_squared = group_rows_squared_;
      sums.group_rows_sum = to_vector(group_rows_sum_);
      sums.group_sum_squared = to_vector(group_sum_squared_);
    } else {
      sums.rows_are_groups();
    }
  }
  return linalg::moments_from(sums, reservoir_.rows());
}

void MomentAccumulator::save(torch::serialize::OutputArchive& archive) const {
  archive.write("numbers", torch::tensor({n_, nonfinite_, rows_per_group_, groups_, block_rows_}));
  archive.write("group_rows_squared", torch::tensor(group_rows_squared_, torch::kDouble));
  const auto& sample = reservoir_.state();
  archive.write("sample_numbers",
                torch::tensor({static_cast<int64_t>(sample.seen),
                               static_cast<int64_t>(sample.capacity),
                               static_cast<int64_t>(sample.random)}));
  archive.write("sample",
                torch::from_blob(const_cast<float*>(sample.rows.data()),
                                 {sample.rows.rows(), sample.rows.cols()})
                    .clone());
  if (!shift_.defined()) return;
  archive.write("shift", shift_);
  archive.write("sum", sum_);
  archive.write("cross", cross_);
  if (block_.defined()) archive.write("block", block_);
  if (group_rows_sum_.defined()) {
    archive.write("group_rows_sum", group_rows_sum_);
    archive.write("group_sum_squared", group_sum_squared_);
  }
}

void MomentAccumulator::load(torch::serialize::InputArchive& archive) {
  torch::Tensor numbers, squared, sample_numbers, sample;
  archive.read("numbers", numbers);
  archive.read("group_rows_squared", squared);
  archive.read("sample_numbers", sample_numbers);
  archive.read("sample", sample);
  const auto* number = numbers.const_data_ptr<int64_t>();
  n_ = number[0], nonfinite_ = number[1], rows_per_group_ = number[2], groups_ = number[3],
  block_rows_ = number[4];
  group_rows_squared_ = squared.item<double>();
  const auto* sample_number = sample_numbers.const_data_ptr<int64_t>();
  linalg::Reservoir::State state;
  state.seen = sample_number[0];
  state.capacity = sample_number[1];
  state.random = static_cast<std::uint64_t>(sample_number[2]);
  state.rows = to_matrix(sample).cast<float>();
  reservoir_ = linalg::Reservoir(std::move(state));
  shift_ = sum_ = cross_ = block_ = group_rows_sum_ = group_sum_squared_ = at::Tensor();
  if (!archive.try_read("shift", shift_)) return;
  archive.read("sum", sum_);
  archive.read("cross", cross_);
  archive.try_read("block", block_);
  if (archive.try_read("group_rows_sum", group_rows_sum_))
    archive.read("group_sum_squared", group_sum_squared_);
}

}  // namespace kappascope::tensor
