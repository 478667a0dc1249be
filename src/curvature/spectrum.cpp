// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/spectrum.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/require.h"
#include "curvature/basis_room.h"
#include "curvature/gathered.h"
#include "curvature/tensor_basis.h"
#include "linalg/density_in.h"
#include "linalg/lanczos_in.h"
#include "linalg/trace_in.h"
#include "tensor/packed.h"

namespace kappascope::curvature {
namespace {

double gibibytes(std::int64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(std::int64_t{1} << 30);
}

/// Relative error of a product with a packed vector.
double packed_noise(const CurvatureOperator& op) {
  return std::hypot(op.product_noise(), tensor::kPackedError);
}

/// The same in all processes of the operator's group (collective). Throws Error where not even the
/// smallest basis fits.
BasisRoom room_for(const CurvatureOperator& op, double tolerance, int top, int least, int most) {
  // What rounding leaves of the tolerance is for the iteration.
  constexpr double kShare = 4;
  const std::int64_t width = op.vectors().dtype() == torch::kDouble ? 8 : 4;
  VectorBytes bytes{.full = std::max<std::int64_t>(width, width * op.size())};
  if (TensorBasis::may_be_packed(op) && tolerance >= kShare * packed_noise(op))
    bytes.packed = 2 * tensor::packed_length(op.size());
  auto* group = op.shared_with();
  const auto free = free_bytes(op.vectors(), group);
  // Beside the columns, one of which waits for its product: what a product gives, in both types.
  const std::int64_t needed =
      least * (bytes.packed > 0 ? bytes.packed : bytes.full) + 2 * bytes.full + 8 * op.size();
  const bool too_little = free && needed > *free;
  require(added_up(too_little ? 1 : 0, group) == 0,
          "{} eigenvalues need {} vectors of {} numbers at once, {:.3g} GiB, and {:.3g} GiB are "
          "free: ask for fewer (top), or of fewer parameters",
          top,
          least + 2,
          op.size(),
          gibibytes(needed),
          gibibytes(free.value_or(0)));
  const auto here = basis_room(free, bytes, most, least);
  return {static_cast<int>(gathered(here.vectors, group).minCoeff()),
          gathered(here.packed ? 1 : 0, group).maxCoeff() > 0};
}

}  // namespace

Eigenpairs eigenpairs(const CurvatureOperator& op,
                      const linalg::LanczosOptions& options,
                      const at::Tensor& start) {
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
  const auto order =
      static_cast<Eigen::Index>(added_up(static_cast<double>(op.size()), op.shared_with()));
  const auto least = static_cast<int>(linalg::smallest_basis(options, order));
  const auto most =
      std::max(least, static_cast<int>(std::min<std::int64_t>(options.max_basis, order)));
  const auto room = room_for(op, options.tolerance, options.top, least, most);
  auto within = options;
  within.max_basis = room.vectors;
  TensorBasis basis(op, room.packed);
  Eigenpairs pairs;
  auto& found = pairs.found;
  found = linalg::lanczos_in(basis,
                             room.packed ? packed_noise(op) : op.product_noise(),
                             within,
                             starts.defined() ? starts.size(0) : 0,
                             [&](Eigen::Index i) { basis.load(starts[i]); });
  if (room.vectors < most) found.room_for_vectors = room.vectors;
  if (room.packed) {
    // Residuals were measured by products with the vectors as they are.
    found.product_noise = op.product_noise();
    found.packed_vectors = true;
    if (found.other_end) found.other_end->residual += tensor::kPackedError * found.magnitude();
  }
  if (options.vectors && found.eigenvalues.size() > 0)
    pairs.vectors = basis.take(found.eigenvalues.size());
  return pairs;
}

linalg::Density spectral_density(const CurvatureOperator& op,
                                 const linalg::DensityOptions& options,
                                 const Eigenpairs& known) {
  const auto pairs = known.found.eigenvalues.size();
  require(pairs == 0 || (known.vectors.defined() && known.vectors.size(0) == pairs &&
                         known.vectors.size(1) == op.size()),
          "the known pairs of a density need their eigenvectors, of its order");
  TensorBasis basis(op);
  const auto exact = linalg::known_eigenvalues(known.found, basis.size());
  const auto quadratures =
      linalg::quadratures_in(basis, op.product_noise(), options, 0, exact, [&](Eigen::Index i) {
        basis.load(known.vectors[i]);
      });
  return linalg::density_from(quadratures, basis.size(), op.product_noise(), options, exact);
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

double curvature_along(const CurvatureOperator& op, const at::Tensor& v) {
  require(v.dim() == 1 && v.numel() == op.size(),
          "a direction of {} parameters has {} numbers",
          op.size(),
          v.numel());
  const torch::NoGradGuard no_grad;
  auto* group = op.shared_with();
  const auto dot = [&](const at::Tensor& a, const at::Tensor& b) {
    return added_up((a * b).sum(torch::kDouble).item<double>(), group);
  };
  auto x = v.detach().to(op.vectors());
  // Over its largest entry first, so that no square vanishes.
  const double mine = x.numel() > 0 ? x.abs().max().item<double>() : 0;
  const double largest = gathered(mine, group).maxCoeff();
  if (largest == 0) return std::numeric_limits<double>::quiet_NaN();
  x = x / largest;
  x = x / std::sqrt(dot(x, x));
  const double curvature = dot(x, op.apply(x));
  return curvature / dot(x, x);
}

linalg::TraceEstimate trace(const CurvatureOperator& op, const linalg::TraceOptions& options) {
  TensorBasis basis(op);
  return linalg::trace_in(basis, options);
}

}  // namespace kappascope::curvature
