// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/spectrum.h"

#include <torch/torch.h>

#include "curvature/tensor_basis.h"
#include "kappascope/core/error.h"

namespace kappascope::curvature {

Eigenpairs eigenpairs(const CurvatureOperator& op,
                      const linalg::LanczosOptions& options,
                      const at::Tensor& start) {
  require(options.start.size() == 0, "give the start vector as a tensor, not in the options");
  TensorBasis basis(op);
  if (start.defined()) {
    require(start.dim() == 1 && start.numel() == op.size(),
            "a start vector of ",
            start.numel(),
            " numbers does not fit an operator of order ",
            op.size());
    require(start.isfinite().all().item<bool>(), "the start vector has NaN or infinity in it");
    basis.load(start.detach());
  }
  Eigenpairs pairs;
  pairs.found = linalg::lanczos_in(basis, op.product_noise(), options, start.defined());
  if (options.vectors && pairs.found.eigenvalues.size() > 0)
    pairs.vectors = basis.columns(pairs.found.eigenvalues.size());
  return pairs;
}

linalg::Density spectral_density(const CurvatureOperator& op,
                                 const linalg::DensityOptions& options) {
  TensorBasis basis(op);
  const auto probes = linalg::quadratures_in(basis, op.product_noise(), options);
  return linalg::density_from(probes, op.size(), op.product_noise(), options);
}

linalg::TraceEstimate trace(const CurvatureOperator& op, const linalg::TraceOptions& options) {
  TensorBasis basis(op);
  return linalg::trace_in(basis, options);
}

}  // namespace kappascope::curvature
