// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/features/sketch.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "kappascope/core/error.h"
#include "kappascope/linalg/lanczos.h"
#include "kappascope/linalg/random.h"
#include "kappascope/linalg/symmetric_eigen.h"
#include "linalg/features/kappa_shared.h"

namespace kappascope::linalg {
namespace {

constexpr Eigen::Index kSampleRows = 256;
// Sums, covariance, eigenvectors and scaled copies of the chosen channels.
constexpr double kSquares = 8;

/// Doubles for ℓ directions: a buffer of 2 ℓ rows and ℓ rows more, and what the decomposition of a
/// matrix of order 2 ℓ works in.
double doubles_of(double directions, double d) {
  return directions * (3 * d + 12 * directions);
}

Eigen::Index directions_in(std::int64_t bytes, Eigen::Index dimension) {
  const double doubles = static_cast<double>(bytes) / 2 / sizeof(double);
  const auto d = static_cast<double>(dimension);
  const double most = (std::sqrt(9 * d * d + 48 * doubles) - 3 * d) / 24;
  return static_cast<Eigen::Index>(std::clamp(most, 0.0, d));
}

Eigen::Index channels_in(std::int64_t bytes, Eigen::Index dimension) {
  const double doubles = static_cast<double>(bytes) / 2 / sizeof(double);
  return static_cast<Eigen::Index>(
      std::clamp(std::sqrt(doubles / kSquares), 0.0, static_cast<double>(dimension)));
}

/// `count` of d channels, ascending, each set as likely as any other.
std::vector<Eigen::Index> choose(Eigen::Index d, Eigen::Index count, std::uint64_t seed) {
  std::vector<Eigen::Index> all(static_cast<std::size_t>(d));
  std::iota(all.begin(), all.end(), Eigen::Index{0});
  Random random(seed);
  for (Eigen::Index i = 0; i < count; ++i) {
    const auto other =
        i + static_cast<Eigen::Index>(random.below(static_cast<std::uint64_t>(d - i)));
    std::swap(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(other)]);
  }
  all.resize(static_cast<std::size_t>(count));
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

MomentSketch::MomentSketch(Eigen::Index dimension, const SketchOptions& options)
    : dimension_((require(dimension >= 1, "a sketch needs a feature"), dimension)),
      directions_(directions_in(options.memory_bytes, dimension)),
      channels_(choose(dimension, channels_in(options.memory_bytes, dimension), options.seed)),
      chosen_(std::ssize(channels_), {.sample_rows = kSampleRows, .seed = options.seed}),
      sum_(Eigen::VectorXd::Zero(dimension)),
      squares_(Eigen::VectorXd::Zero(dimension)) {
  require(directions_ >= std::min<Eigen::Index>(4, dimension) &&
              std::ssize(channels_) >= std::min<Eigen::Index>(2, dimension),
          options.memory_bytes,
          " bytes are too few for a sketch of ",
          dimension,
          " features: ",
          2 * sizeof(double) * doubles_of(4, static_cast<double>(dimension)),
          " hold four directions");
  buffer_.resize(2 * directions_, dimension);
}

std::int64_t MomentSketch::memory_bytes() const {
  const auto s = static_cast<double>(channels_.size());
  const double doubles =
      doubles_of(static_cast<double>(directions_), static_cast<double>(dimension_)) +
      kSquares * s * s;
  return static_cast<std::int64_t>(sizeof(double) * doubles);
}

void MomentSketch::update(const Eigen::Ref<const RowMatrixD>& rows, Eigen::Index rows_per_group) {
  require(rows.cols() == dimension_,
          "rows have width ",
          rows.cols(),
          ", the sketch has width ",
          dimension_);
  std::vector<std::uint8_t> finite(static_cast<std::size_t>(rows.rows()));
  for (Eigen::Index i = 0; i < rows.rows(); ++i)
    finite[static_cast<std::size_t>(i)] = rows.row(i).allFinite() ? 1 : 0;
  chosen_.update(rows(Eigen::all, channels_), finite, rows_per_group);
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    if (finite[static_cast<std::size_t>(i)] == 0) {
      ++nonfinite_rows_;
      continue;
    }
    if (n_ == 0) shift_ = rows.row(i);
    if (filled_ == buffer_.rows()) shrink();
    buffer_.row(filled_) = rows.row(i) - shift_.transpose();
    sum_ += buffer_.row(filled_).transpose();
    squares_ += buffer_.row(filled_).cwiseAbs2().transpose();
    ++filled_;
    ++n_;
  }
}

void MomentSketch::shrink() {
  // By the Gram matrix of the rows: BᵀB = V σ² Vᵀ becomes V (σ² - σ²_ℓ)₊ Vᵀ, and σ²_ℓ is what every
  // direction may have lost.
  const SymmetricEigen gram = symmetric_eigen(buffer_ * buffer_.transpose());
  const Eigen::Index kept = std::min(directions_, filled_ - 1);
  const double cut = std::max(0.0, gram.values(filled_ - 1 - kept));
  const Eigen::ArrayXd squared = gram.values.tail(kept).array().max(0);
  const Eigen::VectorXd shrunk =
      (squared > cut).select(((squared - cut) / squared.max(1e-300)).max(0).sqrt(), 0.0);
  const RowMatrixD top = shrunk.asDiagonal() * (gram.vectors.rightCols(kept).transpose() * buffer_);
  buffer_.topRows(kept) = top;
  filled_ = kept;
  lost_ += cut;
}

SketchedKappa MomentSketch::bounds(const Eigen::VectorXd& v,
                                   const KappaEstimate& of_channels) const {
  const auto n = static_cast<double>(n_);
  const Eigen::VectorXd offset = sum_ / n;
  const auto rows = buffer_.topRows(filled_);
  const SymmetricOperator low{
      .size = dimension_, .apply = [&](const Eigen::VectorXd& x, Eigen::VectorXd& y) {
        const Eigen::VectorXd along = rows * x;
        y = rows.transpose() * along / n - offset * offset.dot(x) + v * v.dot(x);
      }};
  LanczosOptions options;
  options.top = 1;
  options.which = SpectrumEnd::kLargest;
  options.tolerance = 1e-6;
  options.max_basis = 20;
  options.find_repeated = false;
  const LanczosResult found = lanczos(low, options);
  SketchedKappa kappa;
  kappa.of_channels = of_channels;
  kappa.population_lower = of_channels.lower;
  kappa.lambda_min_upper = of_channels.lambda_min;
  // A principal submatrix bounds the top from below as well.
  kappa.lambda_max_lower = of_channels.lambda_max;
  if (found.status == KrylovStatus::kConverged) {
    kappa.lambda_max_lower =
        std::max(kappa.lambda_max_lower, found.eigenvalues(0) - found.residuals(0));
    kappa.lambda_max_upper = found.eigenvalues(0) + found.residuals(0) + lost_ / n;
  }
  // Where a channel is null up to rounding, so is the whole.
  kappa.lower = of_channels.null_dimension > 0
                    ? std::numeric_limits<double>::infinity()
                    : std::max(1.0, kappa.lambda_max_lower / kappa.lambda_min_upper);
  return kappa;
}

SketchedConditioning MomentSketch::result(const Eigen::VectorXd& bias, double confidence) const {
  require(bias.size() == 0 || bias.size() == dimension_,
          "a bias of width ",
          bias.size(),
          " does not fit ",
          dimension_,
          " features");
  SketchedConditioning result;
  result.n = n_;
  result.nonfinite_rows = nonfinite_rows_;
  result.directions = directions_;
  result.channels = channels_;
  if (n_ < 2) return result;
  const auto n = static_cast<double>(n_);
  const Eigen::VectorXd mean = shift_ + sum_ / n;
  const Eigen::VectorXd variances = squares_ / n - (sum_ / n).cwiseAbs2();
  result.trace = variances.sum();
  Conditioning counts;
  count_constants(n_, mean, variances, counts);
  result.constant_features = counts.constant_features;
  result.dead_features = counts.dead_features;
  const Eigen::VectorXd of_chosen =
      bias.size() == 0 ? Eigen::VectorXd() : Eigen::VectorXd(bias(channels_));
  const Conditioning chosen = conditioning(chosen_.result(), of_chosen, {.confidence = confidence});
  result.sigma = bounds(Eigen::VectorXd::Zero(dimension_), chosen.sigma);
  result.second_moment = bounds(mean, chosen.second_moment);
  result.with_bias =
      bias.size() == 0 ? result.second_moment : bounds(mean + bias, chosen.with_bias);
  return result;
}

}  // namespace kappascope::linalg
