// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/sampling.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/require.h"
#include "curvature/subsample.h"
#include "kappascope/core/statistics.h"
#include "kappascope/linalg/random.h"

namespace kappascope::curvature {

using linalg::KrylovStatus;

at::Tensor shuffled(int64_t rows, std::uint64_t seed) {
  auto order = torch::arange(rows, torch::kLong);
  auto* entries = order.mutable_data_ptr<int64_t>();
  linalg::Random random(seed);
  for (int64_t i = rows - 1; i > 0; --i) {
    std::swap(entries[i], entries[random.below(static_cast<std::uint64_t>(i) + 1)]);
  }
  return order;
}

double passes_of(int64_t rows, int64_t all, int products) {
  return static_cast<double>(rows) / static_cast<double>(all) * (1 + 2 * products);
}

Mean mean_of(const Eigen::ArrayXd& values) {
  const auto count = static_cast<double>(values.size());
  Mean mean;
  mean.value = values.mean();
  mean.standard_error = std::sqrt((values - mean.value).square().sum() / (count - 1) / count);
  mean.reach = student_quantile(0.975, static_cast<int>(values.size()) - 1) * mean.standard_error;
  return mean;
}

double dot_in_double(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(torch::kDouble) * b.to(torch::kDouble)).sum().item<double>();
}

Eigenpairs solve(const RowsOperator& op,
                 const at::Tensor& rows,
                 linalg::LanczosOptions options,
                 const at::Tensor& start,
                 ProductCost& cost) {
  options.vectors = true;
  // What came of a random vector is no start to look beside for what that vector missed.
  if (start.defined()) ++options.seed;
  auto pairs = eigenpairs(*op(rows), options, start);
  cost.add(rows.numel(), pairs.found.products);
  return pairs;
}

namespace {

/// NaN is worse than a wrong product, that than a budget, that than none of them.
KrylovStatus worse(KrylovStatus a, KrylovStatus b) {
  for (const auto status :
       {KrylovStatus::kNonFinite, KrylovStatus::kInconsistent, KrylovStatus::kMaxProducts}) {
    if (a == status || b == status) return status;
  }
  return KrylovStatus::kConverged;
}

void check(const BatchesOptions& options, int64_t rows) {
  require(options.batches >= 4 && options.batches % 2 == 0 && options.rows >= 1,
          "sampled eigenvalues need an even number of batches, four at least, of one row or more, "
          "got {} of {}",
          options.batches,
          options.rows);
  require(options.rows <= rows / options.batches,
          "{} batches of {} rows do not fit a data set of {}",
          options.batches,
          options.rows,
          rows);
}

/// Of each column of `samples`, [independent samples, k].
SampleMeans means_of(const Eigen::MatrixXd& samples) {
  const Eigen::Index k = samples.cols();
  SampleMeans means{Eigen::VectorXd(k), Eigen::VectorXd(k), Eigen::VectorXd(k), Eigen::VectorXd(k)};
  for (Eigen::Index i = 0; i < k; ++i) {
    const Mean mean = mean_of(samples.col(i).array());
    means.value(i) = mean.value;
    means.standard_error(i) = mean.standard_error;
    means.lower(i) = mean.value - mean.reach;
    means.upper(i) = mean.value + mean.reach;
  }
  return means;
}

}  // namespace

SampledEigenvalues sampled_eigenvalues(const RowsOperator& op,
                                       int64_t rows,
                                       const BatchesOptions& options) {
  check(options, rows);
  const auto order = shuffled(rows, options.seed);
  const Eigen::Index pairs = options.batches / 2;
  ProductCost cost{.all = rows};
  SampledEigenvalues result;
  result.rows = options.rows * options.batches;
  Eigen::MatrixXd halves, unions;  // [pairs, k]
  bool complete = true;
  for (Eigen::Index p = 0; p < pairs && complete; ++p) {
    const int64_t begin = 2 * p * options.rows;
    const auto one = solve(op, order.narrow(0, begin, options.rows), options.lanczos, {}, cost);
    const auto other =
        solve(op, order.narrow(0, begin + options.rows, options.rows), options.lanczos, {}, cost);
    const auto both = solve(op,
                            order.narrow(0, begin, 2 * options.rows),
                            options.lanczos,
                            one.vectors.defined() ? one.vectors.sum(0) : at::Tensor(),
                            cost);
    for (const auto* each : {&one, &other, &both}) {
      result.status = worse(result.status, each->found.status);
      for (Eigen::Index i = 0; i < each->found.eigenvalues.size(); ++i)
        result.certified = result.certified && each->found.certified(i);
      if (result.values.size() == 0) {
        const Eigen::Index k = each->found.eigenvalues.size();
        result.values.resize(2 * pairs, k);
        result.overlap.resize(pairs, k);
        halves.resize(pairs, k);
        unions.resize(pairs, k);
      }
      complete = complete && each->found.eigenvalues.size() == halves.cols() && halves.cols() > 0;
    }
    if (!complete) break;
    result.values.row(2 * p) = one.found.eigenvalues;
    result.values.row(2 * p + 1) = other.found.eigenvalues;
    halves.row(p) = 0.5 * (one.found.eigenvalues + other.found.eigenvalues);
    unions.row(p) = both.found.eigenvalues;
    for (Eigen::Index i = 0; i < halves.cols(); ++i)
      result.overlap(p, i) = std::abs(dot_in_double(one.vectors[i], other.vectors[i]));
  }
  result.products = cost.products;
  result.passes = cost.passes;
  if (!complete) {
    result.values.resize(0, 0);
    result.overlap.resize(0, 0);
    return result;
  }
  result.batch = means_of(result.values);
  result.bias = means_of(2 * (halves - unions));
  result.corrected = means_of(2 * unions - halves);
  return result;
}

}  // namespace kappascope::curvature
