// SPDX-License-Identifier: Apache-2.0
#include "tensor/centre.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>

#ifdef KAPPASCOPE_CUDA
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "core/require.h"
#include "cuda/centre_rows.cuh"
#endif

namespace kappascope::tensor {
namespace {

// Numbers that are widened to double at once.
constexpr int64_t kWidened = 1 << 22;

at::Tensor group_sums(const at::Tensor& rows, int64_t rows_per_group) {
  const auto per_group = rows_per_group == 1 ? rows.size(0) : rows_per_group;
  return rows.view({-1, per_group, rows.size(1)}).sum(1, /*keepdim=*/false, torch::kDouble);
}

// Of third and fourth order, in double: float has no room for a fourth power.
void add_powers(Centred& centred, int64_t rows_per_group) {
  const auto& rows = centred.rows;
  centred.squares = group_sums(rows.square(), rows_per_group);
  centred.powers = torch::zeros({3, rows.size(1)}, rows.options().dtype(torch::kDouble));
  for (const auto& some : rows.split(std::max<int64_t>(1, kWidened / rows.size(1)))) {
    const auto y = some.to(torch::kDouble), squares = y * y, lengths = squares.sum(1);
    centred.powers +=
        torch::stack({(squares * y).sum(0), (squares * squares).sum(0), at::mv(y.t(), lengths)});
    centred.length_fourth += lengths.dot(lengths).item<double>();
  }
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
      status == cudaSuccess, "the CUDA kernel centre_rows failed: {}", cudaGetErrorString(status));
  out.kept = out.keep.sum().item<int64_t>();
  const auto asked = picked.defined() ? picked.sum().item<int64_t>() : in.size(0);
  out.nonfinite = asked - out.kept;
  out.sums = group_sums(out.rows, rows_per_group);
  add_powers(out, rows_per_group);
  return out;
}
#endif

}  // namespace

Centred centre(const at::Tensor& rows,
               const at::Tensor& mask,
               const at::Tensor& shift,
               int64_t rows_per_group) {
#ifdef KAPPASCOPE_CUDA
  if (rows.is_cuda() && rows.scalar_type() != torch::kDouble)
    return centre_on_device(rows, mask, shift, rows_per_group);
#endif
  Centred out;
  out.rows = rows.to(shift.scalar_type()).contiguous() - shift;
  out.kept = rows.size(0);
  if (mask.defined()) {
    out.keep = mask.to(torch::kBool);
    out.kept = out.keep.sum().item<int64_t>();
    out.rows.masked_fill_(~out.keep.unsqueeze(1), 0);
  }
  out.sums = group_sums(out.rows, rows_per_group);
  // A NaN or an infinity shows in the sums: a look at few numbers instead of all.
  if (std::isfinite(out.sums.sum().item<double>())) {
    add_powers(out, rows_per_group);
    return out;
  }
  const auto finite = rows.isfinite().all(1);
  const auto asked = out.kept;
  out.keep = out.keep.defined() ? out.keep & finite : finite;
  out.kept = out.keep.sum().item<int64_t>();
  out.nonfinite = asked - out.kept;
  out.rows.masked_fill_(~out.keep.unsqueeze(1), 0);
  out.sums = group_sums(out.rows, rows_per_group);
  add_powers(out, rows_per_group);
  return out;
}

}  // namespace kappascope::tensor
