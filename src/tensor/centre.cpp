// SPDX-License-Identifier: Apache-2.0
#include "tensor/centre.h"

#include <torch/torch.h>

#include <cmath>

#ifdef KAPPASCOPE_CUDA
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "cuda/centre_rows.cuh"
#include "kappascope/core/error.h"
#endif

namespace kappascope::tensor {
namespace {

#ifdef KAPPASCOPE_CUDA
Centred centre_on_device(const at::Tensor& rows, const at::Tensor& mask, const at::Tensor& shift) {
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
  out.sums = out.rows.sum(0, /*keepdim=*/false, torch::kDouble);
  return out;
}
#endif

}  // namespace

Centred centre(const at::Tensor& rows, const at::Tensor& mask, const at::Tensor& shift) {
#ifdef KAPPASCOPE_CUDA
  if (rows.is_cuda() && rows.scalar_type() != torch::kDouble)
    return centre_on_device(rows, mask, shift);
#endif
  const auto values = rows.to(shift.scalar_type());
  Centred out;
  out.rows = values - shift;
  out.kept = values.size(0);
  // One look at d sums instead of n·d values: a NaN or an infinity anywhere shows in its column.
  out.sums = out.rows.sum(0);
  const bool suspicious = !std::isfinite(out.sums.sum().item<double>());
  if (!suspicious && !mask.defined()) return out;
  const auto finite = values.isfinite().all(1);
  const auto picked = mask.defined() ? mask.to(torch::kBool) : torch::ones_like(finite);
  out.keep = picked & finite;
  out.kept = out.keep.sum().item<int64_t>();
  out.nonfinite = picked.sum().item<int64_t>() - out.kept;
  // Left-out rows become zero, which adds nothing to any sum and keeps groups in place.
  out.rows = torch::where(out.keep.unsqueeze(1), out.rows, torch::zeros_like(out.rows));
  out.sums = out.rows.sum(0);
  return out;
}

}  // namespace kappascope::tensor
