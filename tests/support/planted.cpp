// SPDX-License-Identifier: Apache-2.0
#include "support/planted.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace kappascope::test {
namespace {

using linalg::Moments;
using linalg::MomentSums;
using linalg::RowMatrixF;

constexpr Eigen::Index kSampleRows = 512;

/// About zero, the population's mean.
MomentSums sums_of(const RowMatrixF& rows) {
  MomentSums sums(rows.cols());
  sums.n = rows.rows();
  sums.sum = rows.cast<double>().colwise().sum().transpose();
  Eigen::MatrixXf cross = Eigen::MatrixXf::Zero(rows.cols(), rows.cols());
  cross.selfadjointView<Eigen::Lower>().rankUpdate(rows.transpose());
  sums.cross = cross.cast<double>();
  sums.higher = linalg::higher_sums(rows.cast<double>());
  sums.rows_are_groups();
  return sums;
}

/// Of n standard Gaussian rows that nobody needs one by one.
template <typename Engine>
MomentSums wishart_sums(Eigen::Index n, Eigen::Index d, Engine& engine) {
  std::normal_distribution<double> normal;
  // The scatter about the mean has n - 1 degrees of freedom and is independent of the mean.
  Eigen::MatrixXd factor = Eigen::MatrixXd::Zero(d, d);
  for (Eigen::Index j = 0; j < d; ++j) {
    std::chi_squared_distribution<double> chi_squared(static_cast<double>(n - 1 - j));
    factor(j, j) = std::sqrt(chi_squared(engine));
    for (Eigen::Index i = j + 1; i < d; ++i) factor(i, j) = normal(engine);
  }
  MomentSums sums(d);
  sums.higher = {};
  sums.n = n;
  for (Eigen::Index j = 0; j < d; ++j) {
    sums.sum(j) = normal(engine) * std::sqrt(static_cast<double>(n));
  }
  sums.cross.selfadjointView<Eigen::Lower>().rankUpdate(factor);
  sums.cross.selfadjointView<Eigen::Lower>().rankUpdate(sums.sum, 1 / static_cast<double>(n));
  sums.rows_are_groups();
  return sums;
}

/// Standard normals, two at a time (Marsaglia's polar method): the draws are what the coverage test
/// spends its time on, and the standard library's are several times slower.
template <typename Engine>
class FastNormal {
 public:
  explicit FastNormal(Engine& engine) : engine_(engine) {}
  float operator()() {
    if (have_spare_) {
      have_spare_ = false;
      return spare_;
    }
    float u = 0;
    float v = 0;
    const float s = point_in_disc(u, v);
    const float factor = std::sqrt(-2 * std::log(s) / s);
    have_spare_ = true;
    spare_ = v * factor;
    return u * factor;
  }
  /// Student's t with 5 degrees of freedom at unit variance (Bailey 1994; its variance is 5/3).
  float student() {
    float u = 0;
    float v = 0;
    const float s = point_in_disc(u, v);
    return u * std::sqrt(3 * (std::pow(s, -0.4F) - 1) / s);
  }

 private:
  float point_in_disc(float& u, float& v) {
    for (;;) {
      const std::uint64_t bits = engine_();
      u = static_cast<float>(static_cast<std::int32_t>(bits >> 32)) * 0x1.0p-31F;
      v = static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1.0p-31F;
      const float s = u * u + v * v;
      if (s > 0 && s < 1) return s;
    }
  }
  Engine& engine_;
  float spare_ = 0;
  bool have_spare_ = false;
};

template <typename Engine>
RowMatrixF rows_of(Rows kind, Eigen::Index n, Eigen::Index d, Engine& engine) {
  FastNormal<Engine> normal(engine);
  if (kind == Rows::kIndependentT) {
    return RowMatrixF::NullaryExpr(n, d, [&] { return normal.student(); });
  }
  RowMatrixF rows = RowMatrixF::NullaryExpr(n, d, [&] { return normal(); });
  if (kind == Rows::kEllipticalT) {
    std::chi_squared_distribution<float> chi_squared(5);
    for (Eigen::Index i = 0; i < n; ++i) rows.row(i) *= std::sqrt(3 / chi_squared(engine));
  }
  return rows;
}

}  // namespace

const char* to_string(Rows rows) {
  switch (rows) {
    case Rows::kGaussian:
      return "Gaussian";
    case Rows::kEllipticalT:
      return "elliptical t5";
    case Rows::kIndependentT:
      return "independent t5";
  }
  return "?";
}

Moments whitened_moments(Rows rows, Eigen::Index n, Eigen::Index d, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  // The rows are exchangeable: the first ones are a uniform sample.
  const RowMatrixF sample = rows_of(rows, std::min(n, kSampleRows), d, engine);
  MomentSums sums = sums_of(sample);
  Eigen::Index left = n - sample.rows();
  if (rows == Rows::kGaussian && left > d + 1) {
    sums.merge(wishart_sums(left, d, engine));
    left = 0;
  }
  while (left > 0) {
    const Eigen::Index block = std::min<Eigen::Index>(left, 1024);
    sums.merge(sums_of(rows_of(rows, block, d, engine)));
    left -= block;
  }
  return linalg::moments_from(sums, sample);
}

Moments moments_of(const linalg::RowMatrixD& rows, Eigen::Index sample_rows) {
  linalg::MomentAccumulator accumulator(rows.cols(), {.sample_rows = sample_rows});
  accumulator.update(rows);
  return accumulator.result();
}

Moments planted(const Moments& whitened,
                const Eigen::VectorXd& spectrum,
                const Eigen::VectorXd& mu) {
  const Eigen::VectorXd root = spectrum.cwiseSqrt();
  Moments moments = whitened;
  moments.covariance = root.asDiagonal() * whitened.covariance * root.asDiagonal();
  moments.mean = root.cwiseProduct(whitened.mean) + mu;
  const linalg::RowMatrixD rows = whitened.sample.cast<double>() * root.asDiagonal();
  moments.sample = (rows.rowwise() + mu.transpose()).cast<float>();
  moments.fourth = {};  // the rows' lengths are not the old ones scaled
  return moments;
}

}  // namespace kappascope::test
