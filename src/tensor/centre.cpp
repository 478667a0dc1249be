// SPDX-License-Identifier: Apache-2.0
#include "tensor/centre.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "tensor/parallel.h"

#ifdef KAPPASCOPE_CUDA
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "cuda/centre_rows.cuh"
#include "kappascope/core/error.h"
#endif

namespace kappascope::tensor {
namespace {

// Rows that are added in the rows' own type before their sum goes into double.
constexpr int64_t kPieceRows = 128;

at::Tensor group_sums(const at::Tensor& rows, int64_t rows_per_group) {
  const auto per_group = rows_per_group == 1 ? rows.size(0) : rows_per_group;
  return rows.view({-1, per_group, rows.size(1)}).sum(1, /*keepdim=*/false, torch::kDouble);
}

// Groups cut into pieces of at most kPieceRows rows: piece p of group g begins at row
// g · per_group + p · kPieceRows.
struct Pieces {
  int64_t groups, per_group;
  [[nodiscard]] int64_t in_group() const { return (per_group + kPieceRows - 1) / kPieceRows; }
  [[nodiscard]] int64_t count() const { return groups * in_group(); }
  [[nodiscard]] int64_t begin(int64_t i) const {
    return i / in_group() * per_group + i % in_group() * kPieceRows;
  }
  [[nodiscard]] int64_t rows(int64_t i) const {
    return std::min(kPieceRows, per_group - i % in_group() * kPieceRows);
  }
};

template <typename T>
at::Tensor group_sums_on_host(const at::Tensor& rows,
                              const at::Tensor& keep,
                              const at::Tensor& shift,
                              int64_t rows_per_group) {
  const auto n = rows.size(0), d = rows.size(1);
  const auto per_group = rows_per_group == 1 ? n : rows_per_group;
  const Pieces pieces{n / per_group, per_group};
  auto sums = torch::empty({pieces.groups, pieces.in_group(), d}, torch::kDouble);
  const T* in = rows.const_data_ptr<T>();
  const T* about = shift.const_data_ptr<T>();
  const auto* kept = keep.defined() ? keep.const_data_ptr<bool>() : nullptr;
  auto* out = sums.mutable_data_ptr<double>();
  // Short groups share a task.
  const auto pieces_in_task = std::max<int64_t>(kPieceRows / pieces.rows(0), 1);
  parallel_tasks((pieces.count() + pieces_in_task - 1) / pieces_in_task, [&](int64_t task) {
    std::vector<T> partial(static_cast<std::size_t>(d));
    T* __restrict sum = partial.data();
    const auto end = std::min((task + 1) * pieces_in_task, pieces.count());
    for (auto i = task * pieces_in_task; i < end; ++i) {
      std::fill(partial.begin(), partial.end(), T(0));
      for (auto row = pieces.begin(i); row < pieces.begin(i) + pieces.rows(i); ++row) {
        if (kept != nullptr && !kept[row]) continue;
        const T* __restrict from = in + row * d;
        for (int64_t j = 0; j < d; ++j) sum[j] += from[j] - about[j];
      }
      std::copy(partial.begin(), partial.end(), out + i * d);
    }
  });
  return pieces.in_group() == 1 ? sums.squeeze(1) : sums.sum(1);
}

// Sums of the rows that `sum` is told to keep: first the mask's; when a NaN or an infinity shows in
// them (a look at few sums instead of all values), those that are finite too.
template <typename Sum>
void sum_finite(const at::Tensor& rows, const at::Tensor& mask, RowSums& out, const Sum& sum) {
  out.kept = rows.size(0);
  if (mask.defined()) {
    out.keep = mask.to(torch::kBool).contiguous();
    out.kept = out.keep.sum().item<int64_t>();
  }
  out.sums = sum(out.keep);
  if (std::isfinite(out.sums.sum().item<double>())) return;
  const auto finite = rows.isfinite().all(1);
  const auto asked = out.kept;
  out.keep = out.keep.defined() ? out.keep & finite : finite;
  out.kept = out.keep.sum().item<int64_t>();
  out.nonfinite = asked - out.kept;
  out.sums = sum(out.keep);
}

#ifdef KAPPASCOPE_CUDA
Centred centre_on_device(const at::Tensor& rows,
                         const at::Tensor& mask,
                         const at::Tensor& shift,
                         int64_t rows_per_group) {
  const c10::cuda::CUDAGuard guard(rows.device());
  const auto stream = c10::cuda::getCurrentCUDAStream().stream();
  const auto in = rows.contiguous();
  const auto picked = mask.defined() ? mask.to(torch::kBool).contiguous() : at::Tensor();
  Centred out;
  out.rows = torch::empty(in.sizes(), in.options().dtype(torch::kFloat));
  out.keep = torch::empty({in.size(0)}, in.options().dtype(torch::kBool));
  const bool narrow = in.scalar_type() == torch::kHalf || in.scalar_type() == torch::kBFloat16;
  const auto values = narrow ? in : in.to(torch::kFloat);
  const auto type = in.scalar_type() == torch::kHalf       ? cuda::RowType::kHalf
                    : in.scalar_type() == torch::kBFloat16 ? cuda::RowType::kBfloat16
                                                           : cuda::RowType::kFloat;
  const auto status = cuda::centre_rows(values.const_data_ptr(),
                                        type,
                                        picked.defined() ? picked.const_data_ptr<bool>() : nullptr,
                                        shift.const_data_ptr<float>(),
                                        out.rows.mutable_data_ptr<float>(),
                                        out.keep.mutable_data_ptr<bool>(),
                                        in.size(0),
                                        in.size(1),
                                        stream);
  require(
      status == cudaSuccess, "the CUDA kernel centre_rows failed: ", cudaGetErrorString(status));
  out.kept = out.keep.sum().item<int64_t>();
  const auto asked = picked.defined() ? picked.sum().item<int64_t>() : in.size(0);
  out.nonfinite = asked - out.kept;
  out.sums = group_sums(out.rows, rows_per_group);
  return out;
}
#endif

}  // namespace

RowSums sum_rows(const at::Tensor& rows,
                 const at::Tensor& mask,
                 const at::Tensor& shift,
                 int64_t rows_per_group) {
  RowSums out;
  sum_finite(rows, mask, out, [&](const at::Tensor& keep) {
    return rows.scalar_type() == torch::kDouble
               ? group_sums_on_host<double>(rows, keep, shift, rows_per_group)
               : group_sums_on_host<float>(rows, keep, shift, rows_per_group);
  });
  return out;
}

Centred centre(const at::Tensor& rows,
               const at::Tensor& mask,
               const at::Tensor& shift,
               int64_t rows_per_group) {
#ifdef KAPPASCOPE_CUDA
  if (rows.is_cuda() && rows.scalar_type() != torch::kDouble)
    return centre_on_device(rows, mask, shift, rows_per_group);
#endif
  const auto values = rows.to(shift.scalar_type()).contiguous();
  Centred out;
  sum_finite(values, mask, out, [&](const at::Tensor& keep) {
    out.rows = values - shift;
    if (keep.defined()) out.rows.masked_fill_(~keep.unsqueeze(1), 0);
    return group_sums(out.rows, rows_per_group);
  });
  return out;
}

}  // namespace kappascope::tensor
