// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/spectrum.h"

#include <torch/types.h>

#include <algorithm>
#include <vector>

#include "curvature/basis_room.h"
#include "curvature/gathered.h"
#include "curvature/tensor_basis.h"
#include "kappascope/core/require.h"
#include "kappascope/linalg/density_in.h"
#include "kappascope/linalg/lanczos_in.h"
#include "kappascope/linalg/trace_in.h"

namespace kappascope::curvature {
namespace {

double gibibytes(std::int64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(std::int64_t{1} << 30);
}

}  // namespace

Eigenpairs eigenpairs(const CurvatureOperator& op,
                      const linalg::LanczosOptions& options,
                      const at::Tensor& start) {
  TensorBasis basis(op);
  at::Tensor starts;
  if (start.defined() && start.numel() > 0) {
    starts = start.detach().dim() == 1 ? start.detach().unsqueeze(0) : start.detach();
    require(starts.dim() == 2 && starts.size(1) == op.size(),
            "start vectors of {} numbers do not fit an operator of order {}",
            starts.size(-1),
            op.size());
    const bool finite = starts.isfinite().all().item<bool>();
    require(added_up(finite ? 0 : 1, op.shared_with()) == 0,
            "a start vector has NaN or infinity in it");
  }
  auto within = options;
  const std::int64_t width = op.vectors().dtype() == torch::kDouble ? 8 : 4;
  const auto least = static_cast<int>(linalg::smallest_basis(options, basis.size()));
  const auto most =
      std::max(least, static_cast<int>(std::min<std::int64_t>(options.max_basis, basis.size())));
  auto* group = op.shared_with();
  const auto bytes = std::max<std::int64_t>(width, width * op.size());
  const auto free = free_bytes(op.vectors(), group);
  // Beside the columns, one of which waits for its product: what a product gives, in both types.
  const std::int64_t needed = (least + 2) * bytes + 8 * op.size();
  const bool too_little = free && needed > *free;
  require(added_up(too_little ? 1 : 0, group) == 0,
          "{} eigenvalues need {} vectors of {} numbers at once, {:.3g} GiB, and {:.3g} GiB are "
          "free: ask for fewer (top), or of fewer parameters",
          options.top,
          least + 2,
          op.size(),
          gibibytes(needed),
          gibibytes(free.value_or(0)));
  const int room = basis_room(free, bytes, most, least);
  within.max_basis = static_cast<int>(gathered(room, group).minCoeff());
  Eigenpairs pairs;
  pairs.found = linalg::lanczos_in(basis,
                                   op.product_noise(),
                                   within,
                                   starts.defined() ? starts.size(0) : 0,
                                   [&](Eigen::Index i) { basis.load(starts[i]); });
  if (within.max_basis < most) pairs.found.room_for_vectors = within.max_basis;
  if (options.vectors && pairs.found.eigenvalues.size() > 0)
    pairs.vectors = basis.take(pairs.found.eigenvalues.size());
  return pairs;
}

linalg::Density spectral_density(const CurvatureOperator& op,
                                 const linalg::DensityOptions& options) {
  TensorBasis basis(op);
  const auto quadratures = linalg::quadratures_in(basis, op.product_noise(), options);
  return linalg::density_from(quadratures, basis.size(), op.product_noise(), options);
}

linalg::Density spectral_density(const BatchOperator& batch,
                                 int batches,
                                 const linalg::DensityOptions& options) {
  require(batches >= 1, "a density needs one batch at least, got {}", batches);
  std::vector<linalg::Quadrature> quadratures;
  int64_t size = 0;
  double noise = 0;
  for (int b = 0; b < batches; ++b) {
    const auto op = batch(b);
    require(op != nullptr && (b == 0 || op->size() == size),
            "the operators of a density must be of one order");
    size = op->size();
    noise = std::max(noise, op->product_noise());
    TensorBasis basis(*op);
    const auto found = linalg::quadratures_in(basis, op->product_noise(), options, b);
    quadratures.insert(quadratures.end(), found.begin(), found.end());
    if (!quadratures.back().finite) break;
  }
  return linalg::density_from(quadratures, size, noise, options);
}

linalg::TraceEstimate trace(const CurvatureOperator& op, const linalg::TraceOptions& options) {
  TensorBasis basis(op);
  return linalg::trace_in(basis, options);
}

}  // namespace kappascope::curvature
