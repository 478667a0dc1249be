// SPDX-License-Identifier: Apache-2.0
#include "tensor/weights.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/require.h"
#include "tensor/convert.h"
#include "tensor/full_float.h"

namespace kappascope::tensor {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

at::Tensor at_least_float(const at::Tensor& matrix) {
  return matrix.scalar_type() == torch::kDouble ? matrix : matrix.to(torch::kFloat);
}

}  // namespace

SpectralNorm spectral_norm(const at::Tensor& matrix) {
  require(matrix.defined() && matrix.dim() == 2 && matrix.is_floating_point() && matrix.numel() > 0,
          "a spectral norm needs a matrix of floating-point numbers");
  const torch::NoGradGuard no_grad;
  const FullFloat full_float;
  const auto w = at_least_float(matrix.detach());
  const double squares =
      std::pow(at::linalg_vector_norm(w, 2, at::nullopt, false, torch::kDouble).item<double>(), 2);
  if (squares == 0)
    return {.stable_rank = kNaN, .stable_rank_lower = kNaN, .stable_rank_upper = kNaN};
  const bool wide = w.size(0) < w.size(1);
  linalg::SymmetricOperator gram;
  gram.size = wide ? w.size(0) : w.size(1);
  gram.apply = [&](const Eigen::VectorXd& x, Eigen::VectorXd& y) {
    const auto v = from_vector(x).to(w.options());
    y = to_vector(wide ? w.mv(w.t().mv(v)) : w.t().mv(w.mv(v)));
  };
  const bool in_double = w.scalar_type() == torch::kDouble;
  gram.product_noise = in_double ? 1e-15 : 1e-6;
  linalg::LanczosOptions options;
  options.top = 1;
  const auto found = linalg::lanczos(gram, options);
  SpectralNorm out{.status = found.status};
  if (found.eigenvalues.size() == 0) {
    out.value = out.lower = out.upper = kNaN;
    out.stable_rank = out.stable_rank_lower = out.stable_rank_upper = kNaN;
    return out;
  }
  // No eigenvalue is larger than their sum, and none below zero.
  const auto [low, high] = found.interval(0);
  const double lower = std::max(low, 0.0), upper = std::min(high, squares);
  out.value = std::sqrt(std::max(found.eigenvalues(0), 0.0));
  out.lower = std::sqrt(lower);
  out.upper = std::sqrt(upper);
  out.stable_rank = squares / found.eigenvalues(0);
  out.stable_rank_lower = squares / upper;
  out.stable_rank_upper = squares / lower;
  out.certified = found.certified(0);
  return out;
}

Alignment alignment(const at::Tensor& gate, const at::Tensor& up) {
  require(gate.defined() && up.defined() && gate.dim() == 2 && gate.sizes() == up.sizes(),
          "the alignment of channels needs two matrices of one shape");
  const torch::NoGradGuard no_grad;
  const auto g = at_least_float(gate.detach()), u = at_least_float(up.detach());
  // Over its largest entry first, so that no square overflows or vanishes; 0 / 0 has no direction.
  const auto directions = [](const at::Tensor& rows) {
    const auto scaled = rows / rows.abs().amax(1, true);
    return scaled / scaled.norm(2, 1, true);
  };
  const auto cosines = (directions(g) * directions(u)).sum(1, false, torch::kDouble).abs();
  const auto known = cosines.index({cosines.isfinite()});
  if (known.numel() == 0) return {kNaN, kNaN};
  return {known.median().item<double>(), known.max().item<double>()};
}

}  // namespace kappascope::tensor
