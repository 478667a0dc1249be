// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/features/kappa.h"

#include <cmath>
#include <utility>

#include "linalg/features/conditioning.h"
#include "linalg/features/row_scale.h"

namespace kappascope::linalg {
namespace {

RowMatrixD finite_rows(const Eigen::Ref<const RowMatrixD>& rows) {
  RowMatrixD finite(rows.rows(), rows.cols());
  Eigen::Index n = 0;
  for (Eigen::Index i = 0; i < rows.rows(); ++i)
    if (rows.row(i).allFinite()) finite.row(n++) = rows.row(i);
  return finite.topRows(n);
}

Conditioning from_rows(const Eigen::Ref<const RowMatrixD>& rows,
                       const Moments& moments,
                       const Eigen::VectorXd& bias,
                       const KappaOptions& options) {
  const RowRoot root = row_root(finite_rows(rows), moments.mean, options.moments.sample_rows);
  auto result = conditioning_by_decomposition(moments, bias, options, root);
  result.rows = moments.n;
  result.nonfinite_rows = moments.nonfinite_rows;
  return result;
}

}  // namespace

Conditioning kappa(Moments moments, const Eigen::VectorXd& bias, const KappaOptions& options) {
  const Eigen::Index width = options.factorise_from < 0 ? kFactoriseFrom : options.factorise_from;
  const auto rows = moments.n, nonfinite_rows = moments.nonfinite_rows;
  Conditioning result;
  if (moments.mean.size() < width) {
    result = conditioning_by_decomposition(moments, bias, options);
  } else {
    FactorisationOptions factorisation;
    factorisation.confidence = options.confidence;
    factorisation.factor.cholesky = options.solvers.cholesky;
    result = conditioning_by_factorisation(std::move(moments), bias, factorisation);
  }
  result.rows = rows;
  result.nonfinite_rows = nonfinite_rows;
  return result;
}

Conditioning kappa(const MomentAccumulator& rows,
                   const Eigen::VectorXd& bias,
                   const KappaOptions& options) {
  return kappa(rows.result(), bias, options);
}

Conditioning kappa(const Eigen::Ref<const RowMatrixD>& rows,
                   const Eigen::VectorXd& bias,
                   const KappaOptions& options) {
  const auto group = options.rows_per_group > 0 ? options.rows_per_group : 1;
  const auto magnitude = [](double x) { return std::isfinite(x) ? std::abs(x) : 0; };
  const double scale = rows.size() > 0 ? row_scale(rows.unaryExpr(magnitude).maxCoeff()) : 1;
  MomentOptions scaled = options.moments;
  scaled.precision.least *= scale;
  MomentAccumulator moments(rows.cols(), scaled);
  const auto ask = [&](const Eigen::Ref<const RowMatrixD>& of) {
    moments.update(of, {}, group);
    return options.from_rows ? from_rows(of, moments.result(), bias * scale, options)
                             : kappa(moments, bias * scale, options);
  };
  return unscale(scale == 1 ? ask(rows) : ask(RowMatrixD(rows * scale)), scale);
}

}  // namespace kappascope::linalg
