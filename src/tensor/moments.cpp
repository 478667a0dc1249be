// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/moments.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "core/require.h"
#include "tensor/centre.h"
#include "tensor/convert.h"
#include "tensor/full_float.h"
#include "tensor/host_pass.h"
#include "tensor/lower_triangle.h"

namespace kappascope::tensor {
namespace {

// Rows that make the shift: enough to lie near the mean, few enough to cost nothing.
constexpr int64_t kShiftRows = 256;

// In a saved state.
constexpr std::pair<const char*, Eigen::VectorXd linalg::HigherSums::*> kHigher[] = {
    {"cubed", &linalg::HigherSums::cubed},
    {"fourth", &linalg::HigherSums::fourth},
    {"length_squared_sum", &linalg::HigherSums::length_squared_sum},
    {"group_rows_squares", &linalg::HigherSums::group_rows_squares},
    {"group_sum_squares", &linalg::HigherSums::group_sum_squares},
    {"group_squares_squared", &linalg::HigherSums::group_squares_squared}};

}  // namespace

linalg::RowPrecision precision_of(at::ScalarType type) {
  switch (type) {
    case at::ScalarType::Double:
      return {};
    case at::ScalarType::BFloat16:
      return {.unit = 0x1p-8, .least = 0x1p-134};
    case at::ScalarType::Half:
      return {.unit = 0x1p-11, .least = 0x1p-25};
    default:
      return {.unit = 0x1p-24, .least = 0x1p-150};
  }
}

MomentAccumulator::MomentAccumulator(int64_t dimension, linalg::MomentOptions options)
    : dimension_(dimension),
      reservoir_(options.sample_rows, dimension, options.seed),
      triangle_(std::make_shared<LowerTriangle>(dimension)) {
  require(dimension > 0, "moments need at least one feature, got {}", dimension);
  sums_.shift = sums_.sum = sums_.group_rows_sum = sums_.group_sum_squared =
      Eigen::VectorXd::Zero(dimension);
  sums_.higher = linalg::HigherSums(dimension);
  sums_.precision = options.precision;
}

void MomentAccumulator::start(const at::Tensor& rows) {
  // The mean of the first rows that are finite lies near the data; rounded to the rows' type it is
  // still an exact shift.
  const auto some = rows.narrow(0, 0, std::min(kShiftRows, rows.size(0)));
  auto good = some.index({some.isfinite().all(1)});
  if (good.size(0) == 0) good = torch::zeros({1, dimension_}, rows.options());
  // A constant feature keeps its constant: mean of differences to the first row, added back.
  const auto first = good[0];
  shift_ = first + (good - first).mean(0);
  sums_.shift = to_vector(shift_);
  cross_ = triangle_->zeros(rows.options().dtype(torch::kDouble));
  if (rows.scalar_type() != torch::kDouble) block_ = triangle_->zeros(rows.options());
}

void MomentAccumulator::update(const at::Tensor& rows,
                               const at::Tensor& mask,
                               int64_t rows_per_group) {
  torch::NoGradGuard no_grad;
  const FullFloat full_float;
  require(rows.dim() == 2 && rows.size(1) == dimension_,
          "expected rows of {} features, got {}",
          dimension_,
          fmt::format("{}", fmt::join(rows.sizes(), " x ")));
  require(rows_per_group > 0 && rows.size(0) % rows_per_group == 0,
          "groups of {} rows do not divide {} rows",
          rows_per_group,
          rows.size(0));
  require(rows_per_group_ == 0 || (rows_per_group_ > 1) == (rows_per_group > 1),
          "rows came {}",
          rows_per_group_ > 1 ? "in sequences, now singly" : "singly, now in sequences");
  require(!mask.defined() || (mask.dim() == 1 && mask.size(0) == rows.size(0)),
          "the mask must have {} entries",
          rows.size(0));
  if (rows.size(0) == 0) return;
  rows_per_group_ = rows_per_group;
  sums_.precision.merge(precision_of(rows.scalar_type()));
  const auto values = rows.detach();
  const auto type = values.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat;
  if (type == torch::kFloat) sums_.precision.float_block = kBlockRows;
  if (!shift_.defined()) {
    // Rows that do not count must not draw the shift away from those that do.
    start((mask.defined() ? values.index({mask.to(torch::kBool)}) : values).to(type));
  }
  require(type == shift_.scalar_type(), "rows changed between double and float");
  if (shift_.device() != rows.device()) {  // of a state that was read
    for (auto* sums : {&shift_, &cross_, &block_}) {
      if (sums->defined()) *sums = sums->to(rows.device());
    }
  }
  if (values.is_cpu() && triangle_->pairs() >= at::get_num_threads()) {
    const auto same = values.to(type).contiguous();
    HostPass pass(*triangle_, same, mask, shift_, rows_per_group);
    multiply(same.size(0), [&](int64_t first, int64_t n, double scale, const at::Tensor& out) {
      pass.run(first, n, scale, out);
    });
    count(values, pass.result(), rows_per_group);
  } else {
    const auto centred = centre(values, mask, shift_, rows_per_group);
    multiply(values.size(0), [&](int64_t first, int64_t n, double scale, const at::Tensor& out) {
      triangle_->add_product(centred.rows.narrow(0, first, n), scale, out);
    });
    count(values, centred, rows_per_group);
  }
}

// In blocks; `product` adds rows [first, first + n) to what `scale` leaves of the sum.
template <typename Product>
void MomentAccumulator::multiply(int64_t rows, const Product& product) {
  for (int64_t first = 0; first < rows;) {
    const auto n = std::min(kBlockRows, rows - first);
    if (block_rows_ + n > kBlockRows) flush();
    // A block that was merged is overwritten.
    const double scale = block_.defined() && block_rows_ == 0 ? 0 : 1;
    product(first, n, scale, block_.defined() ? block_ : cross_);
    block_rows_ += n;
    first += n;
  }
}

void MomentAccumulator::count(const at::Tensor& rows, const RowSums& seen, int64_t rows_per_group) {
  sums_.n += seen.kept;
  sums_.nonfinite_rows += seen.nonfinite;
  const auto host = seen.sums.cpu(), host_squares = seen.squares.cpu(),
             host_powers = seen.powers.cpu();
  const auto matrix = [&](const at::Tensor& of) {
    return Eigen::Map<const linalg::RowMatrixD>(
        of.const_data_ptr<double>(), of.size(0), dimension_);
  };
  const auto totals = matrix(host), squares = matrix(host_squares), powers = matrix(host_powers);
  auto& higher = sums_.higher;
  higher.cubed += powers.row(0).transpose();
  higher.fourth += powers.row(1).transpose();
  higher.length_squared_sum += powers.row(2).transpose();
  higher.length_fourth += seen.length_fourth;
  for (Eigen::Index g = 0; g < totals.rows(); ++g) sums_.sum += totals.row(g).transpose();
  if (rows_per_group > 1) {
    const auto keep = seen.keep.defined() ? seen.keep.cpu() : seen.keep;
    for (Eigen::Index g = 0; g < totals.rows(); ++g) {
      const auto* in_group =
          keep.defined() ? keep.const_data_ptr<bool>() + g * rows_per_group : nullptr;
      const auto members =
          in_group ? std::count(in_group, in_group + rows_per_group, true) : rows_per_group;
      if (members == 0) continue;
      const auto size = static_cast<double>(members);
      ++sums_.groups;
      sums_.group_rows_squared += size * size;
      sums_.group_rows_sum += size * totals.row(g).transpose();
      sums_.group_sum_squared += totals.row(g).transpose().cwiseAbs2();
      higher.group_rows_squares += size * squares.row(g).transpose();
      higher.group_sum_squares += totals.row(g).cwiseProduct(squares.row(g)).transpose();
      higher.group_squares_squared += squares.row(g).transpose().cwiseAbs2();
    }
  }
  keep_sample(seen.keep.defined() ? rows.index({seen.keep}) : rows);
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
  add_widened(block_, cross_);
  block_rows_ = 0;
}

// With the products of the rows.
linalg::MomentSums MomentAccumulator::sums() const {
  auto sums = sums_;
  if (shift_.defined()) {
    flush();
    sums.cross = triangle_->unpack(cross_);
    if (rows_per_group_ == 1) sums.rows_are_groups();
  }
  return sums;
}

void MomentAccumulator::merge(const MomentAccumulator& other) {
  torch::NoGradGuard no_grad;
  require(dimension_ == other.dimension_,
          "moments of width {} cannot be merged into moments of width {}",
          other.dimension_,
          dimension_);
  const auto nonfinite = sums_.nonfinite_rows + other.sums_.nonfinite_rows;
  if (sums_.n == 0) {
    *this = other;
  } else if (other.sums_.n > 0) {
    require((rows_per_group_ > 1) == (other.rows_per_group_ > 1),
            "single rows and sequences cannot be merged");
    require(shift_.scalar_type() == other.shift_.scalar_type(),
            "rows of double and of float cannot be merged");
    auto joint = sums();
    joint.merge(other.sums());
    cross_ = triangle_->pack(joint.cross, cross_.options());
    joint.cross.resize(0, 0);
    sums_ = std::move(joint);
    reservoir_.merge(other.reservoir_);
  }
  sums_.nonfinite_rows = nonfinite;
}

linalg::Moments MomentAccumulator::result() const {
  return linalg::moments_from(sums(), reservoir_.rows());
}

State MomentAccumulator::state() const {
  State out;
  out.set("rows", sums_.n);
  out.set("nonfinite_rows", sums_.nonfinite_rows);
  out.set("rows_per_group", rows_per_group_);
  out.set("groups", sums_.groups);
  out.set("block_rows", block_rows_);
  out.set("group_rows_squared", sums_.group_rows_squared);
  out.set("precision/unit", sums_.precision.unit);
  out.set("precision/least", sums_.precision.least);
  out.set("precision/float_block", sums_.precision.float_block);
  const auto& sample = reservoir_.state();
  out.set("sample/seen", sample.seen);
  out.set("sample/capacity", std::int64_t{sample.capacity});
  out.set("sample/random", std::bit_cast<std::int64_t>(sample.random));
  out.set("sample/rows",
          torch::from_blob(const_cast<float*>(sample.rows.data()),
                           {sample.rows.rows(), sample.rows.cols()})
              .clone());
  out.set("sum", from_vector(sums_.sum));
  out.set("group_rows_sum", from_vector(sums_.group_rows_sum));
  out.set("group_sum_squared", from_vector(sums_.group_sum_squared));
  out.set("length_fourth", sums_.higher.length_fourth);
  for (const auto& [name, member] : kHigher) out.set(name, from_vector(sums_.higher.*member));
  if (!shift_.defined()) return out;
  out.set("shift", shift_);
  out.set("cross", cross_);
  if (block_.defined()) out.set("block", block_);
  return out;
}

void MomentAccumulator::load(const State& state) {
  const auto vector = [&](const char* name) {
    return to_vector(state.tensor(name, torch::kDouble, {dimension_}));
  };
  sums_.n = state.integer("rows");
  sums_.nonfinite_rows = state.integer("nonfinite_rows");
  sums_.groups = state.integer("groups");
  sums_.group_rows_squared = state.number("group_rows_squared");
  sums_.precision = {.unit = state.number("precision/unit"),
                     .least = state.number("precision/least"),
                     .float_block = state.integer("precision/float_block")};
  sums_.sum = vector("sum");
  sums_.group_rows_sum = vector("group_rows_sum");
  sums_.group_sum_squared = vector("group_sum_squared");
  sums_.higher.length_fourth = state.number("length_fourth");
  for (const auto& [name, member] : kHigher) sums_.higher.*member = vector(name);
  rows_per_group_ = state.integer("rows_per_group");
  block_rows_ = state.integer("block_rows");
  require(sums_.n >= 0 && rows_per_group_ >= 0 && block_rows_ >= 0 && block_rows_ <= kBlockRows,
          "the saved moments are of {} rows, {} a group, {} in a block",
          sums_.n,
          rows_per_group_,
          block_rows_);
  linalg::Reservoir::State sample;
  sample.seen = state.integer("sample/seen");
  sample.capacity = state.integer("sample/capacity");
  sample.random = std::bit_cast<std::uint64_t>(state.integer("sample/random"));
  sample.rows =
      to_matrix(state.tensor("sample/rows", torch::kFloat, {-1, dimension_})).cast<float>();
  reservoir_ = linalg::Reservoir(std::move(sample));
  shift_ = cross_ = block_ = at::Tensor();
  if (!state.has("shift")) return;
  // The rows' type is that of the shift; only rows of double have no block beside the sum.
  const bool in_double = !state.has("block");
  const auto type = in_double ? torch::kDouble : torch::kFloat;
  shift_ = state.tensor("shift", type, {dimension_});
  sums_.shift = to_vector(shift_);
  const auto packed = triangle_->zeros(torch::dtype(torch::kDouble));
  cross_ = state.tensor("cross", torch::kDouble, packed.sizes());
  if (!in_double) block_ = state.tensor("block", type, packed.sizes());
}

}  // namespace kappascope::tensor
