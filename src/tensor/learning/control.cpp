// SPDX-License-Identifier: Apache-2.0
#include "tensor/learning/control.h"

#include <torch/types.h>

#include "tensor/convert.h"

namespace kappascope::tensor {
namespace {

std::vector<Eigen::Index> blocks_of_half(Eigen::Index half,
                                         Eigen::Index blocks,
                                         Eigen::Index left_out = -1) {
  std::vector<Eigen::Index> result;
  for (Eigen::Index b = half; b < blocks; b += 2)
    if (b != left_out) result.push_back(b);
  return result;
}

}  // namespace

Control::Control(const BlockedRows& rows,
                 const at::Tensor& scale,
                 const std::vector<at::Tensor>& sums,
                 const at::Tensor& directions) {
  const auto along = directions * scale;
  for (Eigen::Index b = 0; b < rows.blocks().count(); ++b) {
    const auto centre = rows.mean(b % 2).to(rows.options());
    const auto at_centre = along.mv(centre).unsqueeze(1);
    auto squares = torch::zeros({along.size(0)}, along.options().dtype(torch::kDouble));
    rows.for_each_piece(b, [&](int64_t, const at::Tensor& piece) {
      squares += along.mm(piece.t()).sub_(at_centre).square_().sum(1, false, torch::kDouble);
    });
    squares_.push_back(to_vector(squares));
    signed_.push_back(to_matrix(directions.mm(sums[static_cast<std::size_t>(b)].t())));
  }
}

double Control::squares(const std::vector<Eigen::Index>& blocks, Eigen::Index i) const {
  double sum = 0;
  for (const auto b : blocks) sum += squares_[static_cast<std::size_t>(b)](i);
  return sum;
}

double Control::missed(const std::vector<Eigen::Index>& blocks, Eigen::Index i) const {
  Eigen::RowVectorXd sum = Eigen::RowVectorXd::Zero(signed_.front().cols());
  for (const auto b : blocks) sum += signed_[static_cast<std::size_t>(b)].row(i);
  return squares(blocks, i) - sum.squaredNorm() / static_cast<double>(sum.size());
}

void Control::correct(Eigen::Index first,
                      Eigen::Index last,
                      Eigen::Index half,
                      Eigen::Index left_out,
                      double rows,
                      linalg::Trained& part) const {
  const auto blocks = std::ssize(part.held);
  const auto own = blocks_of_half(half, blocks, left_out);
  const auto other = blocks_of_half(1 - half, blocks);
  for (Eigen::Index i = first; i < last; ++i) {
    const double value = squares(own, i) / rows;
    if (!(value > 0)) continue;
    const Eigen::ArrayXd resolvent = (value + part.lambdas).inverse();
    const auto add = [&](linalg::Curve& curve, double by) {
      curve.low += by * resolvent;
      curve.high += by * resolvent;
      curve.total += by;
    };
    add(part.own, missed(own, i) / rows);
    if (left_out >= 0) {
      add(part.held[static_cast<std::size_t>(1 - half)], missed(other, i));
    } else {
      for (const auto b : other) add(part.held[static_cast<std::size_t>(b)], missed({b}, i));
    }
  }
  part.top = squares(own, last - 1) / rows;
  for (const auto b : other) part.top_held[static_cast<std::size_t>(b)] = squares({b}, last - 1);
}

}  // namespace kappascope::tensor
