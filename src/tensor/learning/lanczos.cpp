// SPDX-License-Identifier: Apache-2.0
#include "tensor/learning/half_lanczos.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kappascope/tensor/convert.h"
#include "tensor/learning/control.h"
#include "tensor/learning/tridiagonal.h"

namespace kappascope::tensor {
namespace {

using linalg::Trained;

/// Rounding of a product in float, of the largest eigenvalue: a Lanczos vector shorter than that is
/// nothing but rounding.
constexpr double kNothing = 1e-7;

/// As many random vectors a block as make their error a few per cent.
int64_t probes_for(int64_t dimension, int asked) {
  constexpr int64_t kSamples = 512, kMost = 8;
  return asked > 0 ? asked : std::clamp<int64_t>(kSamples / dimension, 1, kMost);
}

at::Tensor to_device(const Eigen::VectorXd& values, const at::TensorOptions& options) {
  return from_vector(values).to(options);
}

/// [d, p] a block's rows about their half's mean, each with a random sign, added up. [K] of them.
std::vector<at::Tensor> signed_sums(const BlockedRows& rows,
                                    const at::Tensor& scale,
                                    const LearningOptions& options) {
  auto generator = at::detail::createCPUGenerator(options.seed);
  const auto probes = probes_for(rows.dimension(), options.probes);
  std::vector<at::Tensor> sums;
  for (Eigen::Index b = 0; b < rows.blocks().count(); ++b) {
    auto signs = torch::empty({rows.blocks().rows(b), probes});
    signs.random_(0, 2, generator).mul_(2).sub_(1);
    signs = signs.to(rows.options());
    const auto centre = rows.mean(b % 2).to(rows.options());
    const auto sum = rows.block(b).t().mm(signs) - centre.outer(signs.sum(0));
    sums.push_back(sum * scale.unsqueeze(1));
  }
  return sums;
}

/// What Lanczos is started from, for one part of a half: all of it, or all but one block.
struct PartColumns {
  Eigen::Index left_out = -1;
  int64_t begin = 0, end = 0;  ///< all columns of this part; the first `probes` are of its own rows
  int64_t probes = 0;
  std::vector<std::pair<Eigen::Index, int64_t>> held;  ///< block, first of `probes` columns
  int64_t along = 0;                                   ///< first of those from a mean
};

/// Lanczos on the second moments of one half, and of it without each block, all at once.
class HalfLanczos {
 public:
  HalfLanczos(const BlockedRows& rows,
              Eigen::Index half,
              const at::Tensor& scale,
              const Eigen::VectorXd& bias,
              const std::vector<at::Tensor>& sums,
              int steps)
      : rows_(rows), half_(half), scale_(scale), has_bias_(bias.size() > 0) {
    const auto options = rows.options();
    if (has_bias_) bias_ = to_device(bias, options);
    centre_ = rows.mean(half).to(options);
    std::vector<at::Tensor> starts;
    add_part(-1, sums, starts);
    for (Eigen::Index b = half; b < rows.blocks().count(); b += 2) add_part(b, sums, starts);
    auto counts = torch::empty({columns_}, torch::kDouble);
    for (const auto& part : parts_)
      counts.narrow(0, part.begin, part.end - part.begin).fill_(rows.rows(half, part.left_out));
    counts_ = counts.to(options);
    std::vector<int64_t> own;
    for (const auto& part : parts_) own.push_back(part.begin);
    own_ = torch::tensor(own, torch::kLong).to(options.device());
    join(options);
    std::vector<at::Tensor> beside;
    for (Eigen::Index b = 1 - half; b < rows.blocks().count(); b += 2)
      beside.push_back((rows.sum(b).to(options) * scale_));
    if (has_bias_) beside.push_back(bias_ * scale_);
    beside_ = torch::stack(beside);
    run(torch::cat(starts, 1), steps);
  }

  [[nodiscard]] std::vector<Trained> trained() const {
    std::vector<Trained> result;
    for (const auto& part : parts_) result.push_back(trained(part));
    return result;
  }
  /// [d, parts, k] orthonormal vectors along which each part varies most, the last the most.
  [[nodiscard]] at::Tensor directions() const {
    constexpr Eigen::Index kMost = 12;
    const auto steps = basis_.size(1);
    const auto count = std::min(kMost, (steps + 1) / 2);
    std::vector<at::Tensor> result;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const auto ritz = ritz_pairs(found_[static_cast<std::size_t>(parts_[p].begin)]).vectors;
      Eigen::MatrixXd in_basis = Eigen::MatrixXd::Zero(steps, count);
      const auto known = std::min(count, ritz.cols());
      in_basis.topRightCorner(ritz.rows(), known) = ritz.rightCols(known);
      const auto factors =
          torch::from_blob(in_basis.data(), {count, steps}, torch::kDouble).to(rows_.options());
      result.push_back(basis_[static_cast<int64_t>(p)].t().mm(factors.t()));
    }
    return torch::stack(result, 1);
  }
  [[nodiscard]] const std::vector<PartColumns>& parts() const { return parts_; }

 private:
  void add_part(Eigen::Index left_out,
                const std::vector<at::Tensor>& sums,
                std::vector<at::Tensor>& starts) {
    PartColumns part;
    part.left_out = left_out;
    part.begin = columns_;
    part.probes = sums.front().size(1);
    const auto add = [&](const at::Tensor& columns) {
      starts.push_back(columns);
      return std::exchange(columns_, columns_ + columns.size(1));
    };
    auto own = torch::zeros_like(sums.front()), other = own.clone();
    for (Eigen::Index b = 0; b < std::ssize(sums); ++b)
      if (b % 2 != half_) {
        other += sums[static_cast<std::size_t>(b)];
      } else if (b != left_out) {
        own += sums[static_cast<std::size_t>(b)];
      }
    add(own / std::sqrt(rows_.rows(half_, left_out)));
    if (left_out < 0) {
      for (Eigen::Index b = 1 - half_; b < std::ssize(sums); b += 2)
        part.held.emplace_back(b, add(sums[static_cast<std::size_t>(b)]));
    } else {
      part.held.emplace_back(1 - half_, add(other));
    }
    const auto mean = rows_.mean(half_, left_out).to(rows_.options());
    part.along = add((mean * scale_).unsqueeze(1));
    if (has_bias_) add(((mean + bias_) * scale_).unsqueeze(1));
    part.end = columns_;
    parts_.push_back(std::move(part));
  }

  /// Small blocks are put together: one product of them takes less time than a product of each.
  void join(const at::TensorOptions& options) {
    constexpr double kSmall = 16 << 20;  // numbers
    if (rows_.rows(half_) * static_cast<double>(rows_.dimension()) > kSmall) return;
    std::vector<at::Tensor> blocks, counted;
    for (std::size_t p = 1; p < parts_.size(); ++p) {
      blocks.push_back(rows_.block(parts_[p].left_out));
      counted.push_back(torch::ones({blocks.back().size(0), columns_}, options));
      counted.back().narrow(1, parts_[p].begin, parts_[p].end - parts_[p].begin).zero_();
    }
    joined_ = torch::cat(blocks);
    counted_ = torch::cat(counted);
  }

  /// [d, columns] times the second moment of each column's part.
  [[nodiscard]] at::Tensor product(const at::Tensor& columns) const {
    const auto scaled = columns * scale_.unsqueeze(1);
    const auto at_centre = centre_.unsqueeze(0).mm(scaled);
    if (joined_.defined()) {
      const auto along = joined_.mm(scaled).sub_(at_centre).mul_(counted_);
      auto result = joined_.t().mm(along).sub_(centre_.unsqueeze(1).mm(along.sum(0, true)));
      return result.mul_(scale_.unsqueeze(1)).div_(counts_);
    }
    auto result = torch::zeros_like(columns);
    auto total = torch::zeros({1, columns_}, columns.options());
    for (std::size_t p = 1; p < parts_.size(); ++p) {
      const auto block = rows_.block(parts_[p].left_out);
      auto along = block.mm(scaled).sub_(at_centre);
      along.narrow(1, parts_[p].begin, parts_[p].end - parts_[p].begin).zero_();
      result.addmm_(block.t(), along);
      total += along.sum(0, true);
    }
    result.sub_(centre_.unsqueeze(1).mm(total));
    return result.mul_(scale_.unsqueeze(1)).div_(counts_);
  }

  void run(at::Tensor vectors, int steps) {
    const auto dot = [](const at::Tensor& a, const at::Tensor& b) {
      return (a * b).sum(0, false, torch::kDouble);
    };
    const auto as = rows_.options().dtype();
    const auto inverse = [](const at::Tensor& values, double above) {
      return torch::where(values > above, values.reciprocal(), 0.0);
    };
    const auto start = dot(vectors, vectors);
    const auto lengths = start.sqrt();
    vectors = vectors * inverse(lengths, 0).to(as);
    auto before = torch::zeros_like(vectors);
    std::vector<at::Tensor> diagonals, besides, products;
    auto beside = torch::zeros_like(lengths);
    const auto count = std::min<int64_t>(steps, rows_.dimension());
    basis_ = torch::empty({own_.size(0), count, rows_.dimension()}, rows_.options());
    for (int64_t step = 0; step < count; ++step) {
      products.push_back(beside_.mm(vectors));
      basis_.select(1, step).copy_(vectors.index_select(1, own_).t());
      auto next = product(vectors);
      const auto diagonal = dot(vectors, next);
      next.sub_(vectors * diagonal.to(as)).sub_(before * beside.to(as));
      orthogonalise_own(next, step + 1);
      beside = dot(next, next).sqrt();
      diagonals.push_back(diagonal);
      besides.push_back(beside);
      before = vectors;
      vectors = next * inverse(beside, kNothing * diagonal.max().item<double>()).to(as);
    }
    keep(start, torch::stack(diagonals), torch::stack(besides), torch::stack(products));
  }

  /// So that Ritz vectors come once: the own first column of each part against the `count` before.
  void orthogonalise_own(at::Tensor& next, int64_t count) const {
    const auto before = basis_.narrow(1, 0, count);
    for (int pass = 0; pass < 2; ++pass) {
      const auto columns = next.index_select(1, own_).t().unsqueeze(2);  // [parts, d, 1]
      const auto inside = before.transpose(1, 2).bmm(before.bmm(columns)).squeeze(2);
      next.index_add_(1, own_, inside.t(), -1);
    }
  }

  /// Copies what was computed to the host, each column up to where nothing was left of it.
  void keep(const at::Tensor& start,
            const at::Tensor& diagonals,
            const at::Tensor& besides,
            const at::Tensor& products) {
    const auto lengths = to_vector(start);
    const auto diagonal = to_matrix(diagonals), beside = to_matrix(besides);
    const auto steps = diagonal.rows();
    slack_ = kNothing * diagonal.maxCoeff();
    for (int64_t column = 0; column < columns_; ++column) {
      Eigen::Index last = 0;
      while (last + 1 < steps && beside(last, column) > slack_) ++last;
      Tridiagonal found{
          lengths(column), diagonal.col(column).head(last + 1), beside.col(column).head(last + 1)};
      if (found.beside(last) <= slack_ || steps == rows_.dimension()) found.beside(last) = 0;
      found_.push_back(std::move(found));
      products_.push_back(to_matrix(products.select(2, column)));  // [steps, beside]
    }
  }

  [[nodiscard]] linalg::Curve mean_curve(int64_t first,
                                         int64_t probes,
                                         const Eigen::ArrayXd& lambdas) const {
    linalg::Curve result;
    for (int64_t p = first; p < first + probes; ++p)
      result += curve_of(found_[static_cast<std::size_t>(p)], lambdas, slack_);
    result *= 1 / static_cast<double>(probes);
    return result;
  }

  [[nodiscard]] Trained trained(const PartColumns& part) const {
    const auto blocks = static_cast<std::size_t>(rows_.blocks().count());
    Trained result;
    const auto lambdas = linalg::lambdas_below(
        ritz_pairs(found_[static_cast<std::size_t>(part.begin)]).values.maxCoeff());
    result.lambdas = lambdas;
    result.own = mean_curve(part.begin, part.probes, lambdas);
    result.held.resize(blocks);
    result.top_held.resize(blocks);
    for (const auto& [block, column] : part.held)
      result.held[static_cast<std::size_t>(block)] = mean_curve(column, part.probes, lambdas);
    for (int64_t c = part.along; c < part.end; ++c) {
      const auto column = static_cast<std::size_t>(c);
      const auto& products = products_[column];
      const auto steps = found_[column].diagonal.size();
      const auto along = [&](Eigen::Index beside) {
        return curve_of(found_[column], lambdas, products.col(beside).head(steps).eval());
      };
      Trained::Along curves{std::vector<linalg::Curve>(blocks), {}};
      Eigen::Index beside = 0;
      for (std::size_t b = static_cast<std::size_t>(1 - half_); b < blocks; b += 2)
        curves.sums[b] = along(beside++);
      if (has_bias_) curves.bias = along(beside);
      result.along.push_back(std::move(curves));
    }
    return result;
  }

  const BlockedRows& rows_;
  Eigen::Index half_;
  at::Tensor scale_, bias_, centre_, counts_, beside_;
  at::Tensor basis_;             // [parts, steps, d] of the own first columns
  at::Tensor own_;               // their numbers
  at::Tensor joined_, counted_;  // [rows, d] and [rows, columns]: 0 where a part leaves a row out
  bool has_bias_;
  int64_t columns_ = 0;
  std::vector<PartColumns> parts_;
  std::vector<Tridiagonal> found_;
  std::vector<Eigen::MatrixXd> products_;
  double slack_ = 0;
};

}  // namespace

linalg::Sketch sketch_of(const BlockedRows& rows,
                         const Eigen::VectorXd& scale,
                         const Eigen::VectorXd& bias,
                         const LearningOptions& options) {
  const auto factors = to_device(scale, rows.options());
  const auto sums = signed_sums(rows, factors, options);
  const auto blocks = rows.blocks().count();
  linalg::Sketch result;
  result.has_bias = bias.size() > 0;
  result.without.resize(static_cast<std::size_t>(blocks));
  for (Eigen::Index b = 0; b < blocks; ++b)
    result.block_rows.push_back(static_cast<double>(rows.blocks().rows(b)));
  for (const Eigen::Index half : {0, 1}) {
    const HalfLanczos lanczos(rows, half, factors, bias, sums, options.steps);
    const auto directions = lanczos.directions();
    const auto count = directions.size(2);
    const Control control(rows, factors, sums, directions.reshape({rows.dimension(), -1}));
    auto trained = lanczos.trained();
    for (std::size_t p = 0; p < trained.size(); ++p) {
      const auto left_out = lanczos.parts()[p].left_out;
      const auto first = static_cast<Eigen::Index>(p) * count;
      control.correct(first, first + count, half, left_out, rows.rows(half, left_out), trained[p]);
      auto& part = left_out < 0 ? result.halves[static_cast<std::size_t>(half)]
                                : result.without[static_cast<std::size_t>(left_out)];
      part = std::move(trained[p]);
    }
  }
  return result;
}

}  // namespace kappascope::tensor
