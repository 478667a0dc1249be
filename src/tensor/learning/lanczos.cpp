// SPDX-License-Identifier: Apache-2.0
#include "tensor/learning/lanczos.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tensor/convert.h"

namespace kappascope::tensor {
namespace {

/// Rounding of a product in float, of the largest eigenvalue: a Lanczos vector shorter than that is
/// nothing but rounding.
constexpr double kNothing = 1e-7;

/// [..., 1] double: aᵀb of each vector.
at::Tensor inner_products(const at::Tensor& a, const at::Tensor& b) {
  return (a * b).sum(-1, true, torch::kDouble);
}

at::Tensor inverse_above(const at::Tensor& values, double least) {
  return torch::where(values > least, values.reciprocal(), 0.0);
}

}  // namespace

Lanczos::Lanczos(const BlockedRows& rows,
                 at::Tensor scale,
                 const Eigen::VectorXd& bias,
                 const std::vector<at::Tensor>& sums,
                 int64_t steps)
    : rows_(rows), scale_(std::move(scale)), probes_(sums.front().size(0)) {
  const auto options = rows.options();
  if (bias.size() > 0) bias_ = from_vector(bias).to(options);
  std::vector<at::Tensor> starts, centres, besides, counts;
  for (const int64_t half : {0, 1}) {
    starts.push_back(start(half, sums));
    centres.push_back(rows.mean(half).to(options));
    std::vector<at::Tensor> beside;
    for (Eigen::Index b = 1 - half; b < rows.blocks().count(); b += 2)
      beside.push_back(rows.sum(b).to(options) * scale_);
    if (bias_) beside.push_back(*bias_ * scale_);
    besides.push_back(torch::stack(beside));
    counts.push_back(torch::empty({vectors_, 1}, torch::kDouble));
    for (int64_t p = 0; p < parts(); ++p) {
      const auto& part = parts_[static_cast<std::size_t>(p)];
      counts.back()
          .narrow(0, part.own, part.end - part.own)
          .fill_(rows.rows(half, left_out(half, p)));
    }
  }
  centre_ = torch::stack(centres).unsqueeze(1);
  beside_ = torch::stack(besides);
  counts_ = torch::stack(counts).to(options);
  std::vector<int64_t> own;
  for (const auto& part : parts_) own.push_back(part.own);
  own_ = torch::tensor(own, torch::kLong).to(options.device());
  join();
  run(torch::stack(starts), steps);
}

at::Tensor Lanczos::start(int64_t half, const std::vector<at::Tensor>& sums) {
  const auto blocks = std::ssize(sums);
  const auto sum_of = [&](int64_t of, Eigen::Index without) {
    auto total = torch::zeros_like(sums.front());
    for (Eigen::Index b = of; b < blocks; b += 2)
      if (b != without) total += sums[static_cast<std::size_t>(b)];
    return total;
  };
  std::vector<at::Tensor> starts;
  vectors_ = 0;
  parts_.clear();
  const auto add = [&](const at::Tensor& vectors) {
    starts.push_back(vectors);
    return std::exchange(vectors_, vectors_ + vectors.size(0));
  };
  for (int64_t p = 0; p <= blocks / 2; ++p) {
    const auto without = left_out(half, p);
    Part part;
    part.own = add(sum_of(half, without) / std::sqrt(rows_.rows(half, without)));
    part.held = vectors_;
    if (p > 0) {
      add(sum_of(1 - half, -1));
    } else {
      for (Eigen::Index b = 1 - half; b < blocks; b += 2) add(sums[static_cast<std::size_t>(b)]);
    }
    const auto mean = rows_.mean(half, without).to(rows_.options());
    part.along = add((mean * scale_).unsqueeze(0));
    if (bias_) add(((mean + *bias_) * scale_).unsqueeze(0));
    part.end = vectors_;
    parts_.push_back(part);
  }
  return torch::cat(starts);
}

/// Small blocks are copied, about their half's mean and scaled: one product takes less time than a
/// product of each.
void Lanczos::join() {
  constexpr int64_t kSmall = 32 << 20;  // numbers
  int64_t longest = 0;
  for (const int64_t half : {0, 1})
    longest = std::max(longest, static_cast<int64_t>(rows_.rows(half)));
  if (2 * longest * rows_.dimension() > kSmall) return;
  joined_ = torch::zeros({2, longest, rows_.dimension()}, rows_.options());
  shares_ = counts_.reciprocal().expand({2, vectors_, longest}).contiguous();
  for (const int64_t half : {0, 1}) {
    int64_t row = 0;
    for (int64_t p = 1; p < parts(); ++p) {
      const auto block = rows_.block(left_out(half, p));
      const auto count = block.size(0);
      auto to = joined_[half].narrow(0, row, count);
      torch::sub_out(to, block, centre_[half]).mul_(scale_);
      const auto& part = parts_[static_cast<std::size_t>(p)];
      shares_[half].narrow(0, part.own, part.end - part.own).narrow(1, row, count).zero_();
      row += count;
    }
  }
}

/// [2, vectors, d] times the second moment of each vector's part.
at::Tensor Lanczos::product(const at::Tensor& vectors) const {
  if (joined_.defined()) return vectors.bmm(joined_.transpose(1, 2)).mul_(shares_).bmm(joined_);
  const auto scaled = vectors * scale_;
  const auto at_centre = (scaled * centre_).sum(2, true);
  auto result = torch::zeros_like(scaled);
  for (const int64_t half : {0, 1}) {
    auto sum = result[half];
    for (int64_t p = 1; p < parts(); ++p) {
      const auto& part = parts_[static_cast<std::size_t>(p)];
      rows_.for_each_piece(left_out(half, p), [&](int64_t, const at::Tensor& piece) {
        auto along = scaled[half].mm(piece.t()).sub_(at_centre[half]);
        along.narrow(0, part.own, part.end - part.own).zero_();
        sum.addmm_(along, piece).sub_(along.sum(1, true) * centre_[half]);
      });
    }
  }
  return result.mul_(scale_).div_(counts_);
}

void Lanczos::run(at::Tensor vectors, int64_t steps) {
  const auto as = rows_.options().dtype();
  const auto start = inner_products(vectors, vectors);
  vectors = vectors * inverse_above(start.sqrt(), 0).to(as);
  auto before = torch::zeros_like(vectors);
  auto beside = torch::zeros_like(start);
  std::vector<at::Tensor> diagonals, besides, products;
  const auto count = std::min<int64_t>(steps, rows_.dimension());
  basis_ = torch::empty({2, parts(), count, rows_.dimension()}, rows_.options());
  for (int64_t step = 0; step < count; ++step) {
    products.push_back(beside_.bmm(vectors.transpose(1, 2)));
    basis_.select(2, step).copy_(vectors.index_select(1, own_));
    auto next = product(vectors);
    const auto diagonal = inner_products(vectors, next);
    next.addcmul_(vectors, diagonal.to(as), -1).addcmul_(before, beside.to(as), -1);
    orthogonalise_own(next, step + 1);
    beside = inner_products(next, next).sqrt();
    diagonals.push_back(diagonal.squeeze(2));
    besides.push_back(beside.squeeze(2));
    before = vectors;
    vectors = next.mul_(inverse_above(beside, kNothing * diagonal.max().item<double>()).to(as));
  }
  keep(start.squeeze(2), torch::stack(diagonals), torch::stack(besides), torch::stack(products));
}

/// So that Ritz vectors come once: the own first vector of each part against the `count` before.
void Lanczos::orthogonalise_own(at::Tensor& next, int64_t count) const {
  const auto before = basis_.narrow(2, 0, count).flatten(0, 1);
  auto own = next.index_select(1, own_).flatten(0, 1).unsqueeze(1);  // [2 parts, 1, d]
  for (int pass = 0; pass < 2; ++pass)
    own = own.baddbmm(own.bmm(before.transpose(1, 2)), before, 1, -1);
  next.index_copy_(1, own_, own.view({2, parts(), -1}));
}

/// Copies what was computed to the host, each vector up to where nothing was left of it.
void Lanczos::keep(const at::Tensor& start,
                   const at::Tensor& diagonals,
                   const at::Tensor& besides,
                   const at::Tensor& products) {
  const auto lengths = to_vector(start.flatten());
  const auto diagonal = to_matrix(diagonals.flatten(1)), beside = to_matrix(besides.flatten(1));
  const auto on_host = products.to(torch::kDouble).cpu();  // [steps, 2, beside, vectors]
  const auto steps = diagonal.rows();
  slack_ = kNothing * diagonal.maxCoeff();
  for (int64_t column = 0; column < 2 * vectors_; ++column) {
    Eigen::Index last = 0;
    while (last + 1 < steps && beside(last, column) > slack_) ++last;
    Tridiagonal found{
        lengths(column), diagonal.col(column).head(last + 1), beside.col(column).head(last + 1)};
    if (found.beside(last) <= slack_ || steps == rows_.dimension()) found.beside(last) = 0;
    found_.push_back(std::move(found));
    products_.push_back(
        to_matrix(on_host.select(1, column / vectors_).select(2, column % vectors_)));
  }
}

linalg::Curve Lanczos::mean_curve(int64_t half,
                                  int64_t first,
                                  const Eigen::ArrayXd& lambdas) const {
  linalg::Curve result;
  for (int64_t v = first; v < first + probes_; ++v)
    result += curve_of(found_[place(half, v)], lambdas, slack_);
  result *= 1 / static_cast<double>(probes_);
  return result;
}

linalg::Trained Lanczos::trained(int64_t half, int64_t index) const {
  const auto& part = parts_[static_cast<std::size_t>(index)];
  const auto blocks = static_cast<std::size_t>(rows_.blocks().count());
  const auto other = static_cast<std::size_t>(1 - half);
  linalg::Trained result;
  const auto lambdas =
      linalg::lambdas_below(ritz_pairs(found_[place(half, part.own)]).values.maxCoeff());
  result.lambdas = lambdas;
  result.own = mean_curve(half, part.own, lambdas);
  result.held.resize(blocks);
  result.top_held.resize(blocks);
  int64_t held = part.held;
  for (std::size_t b = other; held < part.along; b += 2, held += probes_)
    result.held[b] = mean_curve(half, held, lambdas);
  for (int64_t v = part.along; v < part.end; ++v) {
    const auto& found = found_[place(half, v)];
    const auto& products = products_[place(half, v)];
    const auto along = [&](Eigen::Index beside) {
      return curve_of(found, lambdas, products.col(beside).head(found.diagonal.size()).eval());
    };
    linalg::Trained::Along curves{std::vector<linalg::Curve>(blocks), {}};
    Eigen::Index beside = 0;
    for (std::size_t b = other; b < blocks; b += 2) curves.sums[b] = along(beside++);
    if (bias_) curves.bias = along(beside);
    result.along.push_back(std::move(curves));
  }
  return result;
}

int64_t Lanczos::converged(int64_t half, int64_t part) const {
  constexpr int64_t kMost = 12;
  constexpr double kResidual = 0.01;  // of the eigenvalue
  const auto& found = found_[place(half, parts_[static_cast<std::size_t>(part)].own)];
  const auto [values, vectors] = ritz_pairs(found);
  const auto last = values.size() - 1;
  const auto most = std::min(kMost, (basis_.size(2) + 1) / 2);
  int64_t count = 0;
  while (count < std::min<int64_t>(most, values.size()) &&
         found.beside(last) * std::abs(vectors(last, last - count)) <=
             kResidual * values(last - count))
    ++count;
  return count;
}

at::Tensor Lanczos::directions() const {
  const auto steps = basis_.size(2);
  int64_t count = 1;
  for (const int64_t half : {0, 1})
    for (int64_t p = 0; p < parts(); ++p) count = std::max(count, converged(half, p));
  std::vector<at::Tensor> factors;
  for (const int64_t half : {0, 1}) {
    for (const auto& part : parts_) {
      const auto ritz = ritz_pairs(found_[place(half, part.own)]).vectors;
      Eigen::MatrixXd in_basis = Eigen::MatrixXd::Zero(steps, count);
      const auto known = std::min<Eigen::Index>(count, ritz.cols());
      in_basis.topRightCorner(ritz.rows(), known) = ritz.rightCols(known);
      factors.push_back(torch::from_blob(in_basis.data(), {count, steps}, torch::kDouble).clone());
    }
  }
  const auto in_basis = torch::stack(factors).to(rows_.options());
  return in_basis.bmm(basis_.flatten(0, 1)).view({2, parts(), count, rows_.dimension()});
}

}  // namespace kappascope::tensor
