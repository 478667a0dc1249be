// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/learning.h"

#include <algorithm>
#include <utility>

#include "core/require.h"
#include "kappascope/linalg/symmetric_eigen.h"
#include "linalg/features/row_scale.h"
#include "linalg/learning/sketch.h"

namespace kappascope::linalg {

Curve& Curve::operator+=(const Curve& other) {
  if (other.low.size() == 0) return *this;
  if (low.size() == 0) return *this = other;
  low += other.low;
  high += other.high;
  total += other.total;
  return *this;
}

Curve& Curve::operator*=(double factor) {
  low *= factor;
  high *= factor;
  total *= factor;
  return *this;
}

Eigen::ArrayXd lambdas_below(double top) {
  constexpr Eigen::Index kPoints = 56;
  return top * Eigen::pow(10.0, Eigen::ArrayXd::LinSpaced(kPoints, 1, -6));
}

Blocks blocks_of(const std::vector<Eigen::Index>& group_rows) {
  constexpr Eigen::Index kBlocks = 8, kFewest = 4;
  const auto groups = std::ssize(group_rows);
  const auto count = std::min(kBlocks, groups / 2 * 2);
  if (count < kFewest) return {};
  Blocks blocks;
  Eigen::Index row = 0;
  for (Eigen::Index g = 0, b = 0; g < groups; ++g) {
    if (g == groups * b / count) blocks.begins.push_back(row), ++b;
    row += group_rows[static_cast<std::size_t>(g)];
  }
  blocks.begins.push_back(row);
  return blocks;
}

void check(const LearningOptions& options,
           Eigen::Index rows,
           Eigen::Index dimension,
           const Eigen::VectorXd& bias) {
  require(options.confidence > 0 && options.confidence < 1,
          "the confidence of an interval lies in (0, 1), got {}",
          options.confidence);
  require(
      options.rows_per_group >= 0 && rows % std::max<Eigen::Index>(1, options.rows_per_group) == 0,
      "groups of {} do not divide {} rows",
      options.rows_per_group,
      rows);
  require(bias.size() == 0 || bias.size() == dimension,
          "a bias of {} features cannot be one of {}",
          bias.size(),
          dimension);
  require(bias.allFinite(), "the bias is not finite");
}

namespace {

/// Sums over the rows of a block.
struct BlockSums {
  double rows = 0;
  Eigen::VectorXd sum;
  Eigen::MatrixXd cross;
};

/// A part of the rows: blocks of one half, but for one.
class Part {
 public:
  Part(const std::vector<BlockSums>& blocks, std::size_t half, std::size_t left_out)
      : blocks_(blocks) {
    sum_.setZero(blocks.front().sum.size());
    cross_.setZero(sum_.size(), sum_.size());
    for (std::size_t b = half; b < blocks.size(); b += 2) {
      if (b == left_out) continue;
      rows_ += blocks[b].rows;
      sum_ += blocks[b].sum;
      cross_ += blocks[b].cross;
    }
  }
  [[nodiscard]] Eigen::VectorXd mean() const { return sum_ / rows_; }
  [[nodiscard]] Eigen::MatrixXd covariance() const {
    return cross_ / rows_ - mean() * mean().transpose();
  }
  /// Of the other half's blocks about that half's mean, in the eigenvectors of this part.
  [[nodiscard]] Trained trained(const Part& other, std::size_t half, const Eigen::VectorXd& bias) {
    const auto pairs = symmetric_eigen(covariance());
    const auto& values = pairs.values;
    const auto& vectors = pairs.vectors;
    Trained result;
    result.top = values.maxCoeff();
    result.lambdas = lambdas_below(result.top);
    const auto curve = [&](const Eigen::VectorXd& weights) {
      Curve at;
      at.low.resize(result.lambdas.size());
      for (Eigen::Index i = 0; i < at.low.size(); ++i)
        at.low(i) = (weights.array() / (values.array() + result.lambdas(i))).sum();
      at.high = at.low;
      at.total = weights.sum();
      return at;
    };
    const auto between = [&](const Eigen::VectorXd& u, const Eigen::VectorXd& v) {
      return curve((vectors.transpose() * u).cwiseProduct(vectors.transpose() * v));
    };
    result.own = curve(values);
    result.held.resize(blocks_.size());
    result.top_held.resize(blocks_.size());
    std::vector<Eigen::VectorXd> starts{mean()};
    if (bias.size() > 0) starts.push_back(mean() + bias);
    for (const auto& start : starts) {
      result.along.push_back({std::vector<Curve>(blocks_.size()), {}});
      if (bias.size() > 0) result.along.back().bias = between(bias, start);
    }
    const Eigen::VectorXd centre = other.mean();
    for (std::size_t b = 1 - half; b < blocks_.size(); b += 2) {
      const auto& block = blocks_[b];
      const Eigen::MatrixXd about = block.cross - block.sum * centre.transpose() -
                                    centre * block.sum.transpose() +
                                    block.rows * centre * centre.transpose();
      const Eigen::VectorXd held = (vectors.transpose() * about * vectors).diagonal();
      result.held[b] = curve(held);
      result.top_held[b] = held(held.size() - 1);
      for (std::size_t c = 0; c < starts.size(); ++c)
        result.along[c].sums[b] = between(block.sum, starts[c]);
    }
    return result;
  }

 private:
  const std::vector<BlockSums>& blocks_;
  double rows_ = 0;
  Eigen::VectorXd sum_;
  Eigen::MatrixXd cross_;
};

/// Of rows times `scale`, feature by feature.
Sketch sketch_of(const RowMatrixD& rows,
                 const Blocks& blocks,
                 const Eigen::VectorXd& scale,
                 const Eigen::VectorXd& bias) {
  std::vector<BlockSums> sums;
  Sketch result;
  for (Eigen::Index b = 0; b < blocks.count(); ++b) {
    const Eigen::MatrixXd block =
        rows.middleRows(blocks.begin(b), blocks.rows(b)) * scale.asDiagonal();
    sums.push_back(
        {static_cast<double>(block.rows()), block.colwise().sum(), block.transpose() * block});
    result.block_rows.push_back(sums.back().rows);
  }
  result.has_bias = bias.size() > 0;
  const Eigen::VectorXd scaled_bias =
      result.has_bias ? bias.cwiseProduct(scale).eval() : Eigen::VectorXd();
  const std::size_t none = sums.size();
  for (const std::size_t half : {0U, 1U})
    result.halves[half] =
        Part(sums, half, none).trained(Part(sums, 1 - half, none), half, scaled_bias);
  for (std::size_t b = 0; b < none; ++b)
    result.without.push_back(
        Part(sums, b % 2, b).trained(Part(sums, 1 - b % 2, none), b % 2, scaled_bias));
  return result;
}

}  // namespace

Learning learning(const Eigen::Ref<const RowMatrixD>& rows,
                  const Eigen::VectorXd& bias,
                  const LearningOptions& options) {
  check(options, rows.rows(), rows.cols(), bias);
  std::vector<Eigen::Index> kept, group_rows;
  const auto length = std::max<Eigen::Index>(1, options.rows_per_group);
  for (Eigen::Index first = 0; first < rows.rows(); first += length) {
    const auto before = std::ssize(kept);
    for (Eigen::Index i = first; i < first + length; ++i)
      if (rows.row(i).allFinite()) kept.push_back(i);
    if (std::ssize(kept) > before) group_rows.push_back(std::ssize(kept) - before);
  }
  Learning result;
  result.rows = std::ssize(kept);
  result.groups = std::ssize(group_rows);
  result.nonfinite_rows = rows.rows() - result.rows;
  const auto blocks = blocks_of(group_rows);
  if (blocks.count() == 0) {
    static_cast<LearningTimes&>(result) = too_few_groups();
    return result;
  }
  RowMatrixD values = rows(kept, Eigen::all);
  const double scale = row_scale(values.cwiseAbs().maxCoeff());
  values *= scale;
  const Eigen::VectorXd mean = values.colwise().mean();
  const Eigen::VectorXd variance =
      (values.rowwise() - mean.transpose()).cwiseAbs2().colwise().mean();
  const Eigen::VectorXd scaled_bias = bias * scale;
  static_cast<LearningTimes&>(result) =
      learn(options, mean, variance, scaled_bias, [&](const Eigen::VectorXd& diagonal) {
        return sketch_of(values, blocks, diagonal, scaled_bias);
      });
  return result;
}

}  // namespace kappascope::linalg
