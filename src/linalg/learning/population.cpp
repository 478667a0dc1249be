// SPDX-License-Identifier: Apache-2.0
#include "linalg/learning/population.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kappascope/linalg/symmetric_eigen.h"
#include "linalg/learning/nonnegative.h"

namespace kappascope::linalg {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr int kNodes = 60;          // of the population's spectrum
constexpr double kGap = 2;          // bounds that are farther apart say nothing
constexpr double kNear = 0.05;      // a gap that is no error beside that of the rows
constexpr double kLongest = 1e12;   // steps
constexpr double kConstrain = 100;  // weight of the equation that the trace is what it is

/// The equations ∫ κ/(x + κ) dF(x) = r that the parts give, for Σ and for each c.
struct Equations {
  std::vector<double> kappas, shares, weights;
  std::vector<std::vector<double>> along;
  double trace = 0;
  std::vector<double> along_total;
};

Curve held_by(const TriedPart& part, const std::vector<Curve>& curves) {
  Curve sum;
  for (const auto b : part.held) sum += curves[b];
  sum *= 1 / part.held_rows;
  return sum;
}

double taken(const Curve& curve, Eigen::Index i, Population::Side side) {
  switch (side) {
    case Population::Side::kFast:
      return curve.low(i);
    case Population::Side::kMiddle:
      return std::sqrt(curve.low(i) * curve.high(i));
    case Population::Side::kSlow:
      return curve.high(i);
  }
  return curve.low(i);
}

void add_part(const TriedPart& part, Population::Side side, Equations& out) {
  const Trained& trained = *part.trained;
  const Curve held = held_by(part, trained.held);
  out.trace += held.total;
  std::vector<Curve> along;
  for (std::size_t c = 0; c < trained.along.size(); ++c) {
    along.push_back(held_by(part, trained.along[c].sums));
    if (c > 0) along.back() += trained.along[c].bias;
    out.along_total[c] += along.back().total;
  }
  for (Eigen::Index i = 0; i < trained.lambdas.size(); ++i) {
    const double lambda = trained.lambdas(i);
    const double gap =
        std::max(trained.own.high(i) / trained.own.low(i), held.high(i) / held.low(i));
    const double tried = taken(held, i, side);
    const double kappa = lambda * tried / taken(trained.own, i, side);
    if (!(gap <= kGap) || !(kappa > 0) || !std::isfinite(kappa)) continue;
    out.kappas.push_back(kappa);
    out.shares.push_back(lambda * tried / held.total);
    out.weights.push_back(std::min(1.0, kNear / (gap - 1)));
    for (std::size_t c = 0; c < along.size(); ++c) out.along[c].push_back(lambda * along[c].low(i));
  }
}

Eigen::Map<const Eigen::VectorXd> mapped(const std::vector<double>& values) {
  return {values.data(), std::ssize(values)};
}

}  // namespace

Population::Population(const std::vector<TriedPart>& parts, Side side, const Population* similar) {
  Equations curves;
  curves.along.resize(parts.front().trained->along.size());
  curves.along_total.resize(curves.along.size());
  double log_trained = 0, log_held = 0;
  const auto count = static_cast<double>(parts.size());
  for (const auto& part : parts) {
    add_part(part, side, curves);
    double held = 0;
    for (const auto b : part.held) held += part.trained->top_held[b] / part.held_rows;
    log_trained += std::log(part.trained->top) / count;
    log_held += std::log(held) / count;
  }
  // A small sample may have it the other way round.
  most_largest_ = std::exp(std::max(log_trained, log_held));
  least_largest_ = std::exp(std::min(log_trained, log_held));
  largest_ = std::sqrt(most_largest_ * least_largest_);
  const auto kappas = mapped(curves.kappas), weights = mapped(curves.weights);
  floor_ = std::min(kappas.size() > 0 ? kappas.minCoeff() : kInfinite, largest_ / 3);

  nodes_.resize(kNodes + 1);
  nodes_(0) = 0;
  const double lowest = floor_ / 3;
  for (int j = 0; j < kNodes; ++j)
    nodes_(1 + j) = lowest * std::pow(largest_ / lowest, static_cast<double>(j) / (kNodes - 1));

  Eigen::MatrixXd equations(kappas.size() + 1, nodes_.size());
  for (Eigen::Index i = 0; i < kappas.size(); ++i)
    equations.row(i) = weights(i) * kappas(i) / (nodes_.transpose().array() + kappas(i));
  equations.bottomRows(1).setConstant(kConstrain);
  Eigen::VectorXd right(kappas.size() + 1);
  right << weights.cwiseProduct(mapped(curves.shares)), kConstrain;
  const NonnegativeLeastSquares fit(equations);
  const Eigen::VectorXd zero;
  variance_ = curves.trace / count * fit.solve(right, similar ? similar->variance_ : zero);
  for (std::size_t c = 0; c < curves.along.size(); ++c) {
    const double total = curves.along_total[c] / count;
    right << weights.cwiseProduct(mapped(curves.along[c])), kConstrain * total;
    along_.push_back(fit.solve(right, similar ? similar->along_[c] : zero));
  }
}

LogSteps Population::log_steps(int along, double unresolved, double largest) const {
  Eigen::VectorXd nodes = nodes_;
  nodes(0) = unresolved;
  std::vector<double> at(nodes.begin(), nodes.end());
  std::vector<double> weight(variance_.begin(), variance_.end());
  double top = largest;
  if (along != kNone) {
    // The rank-one update moves one eigenvalue of each node that c has a part in.
    const auto& part = along_[static_cast<std::size_t>(along)];
    std::vector<Eigen::Index> moved;
    for (Eigen::Index j = 0; j < nodes.size(); ++j)
      if (part(j) > 0 || j + 1 == nodes.size()) moved.push_back(j);
    const Eigen::VectorXd c = part(moved).cwiseSqrt();
    const Eigen::VectorXd before = nodes(moved);
    Eigen::MatrixXd updated = c * c.transpose();
    updated.diagonal() += before;
    const auto [after, vectors] = symmetric_eigen(updated);
    // Of the trace of Σ, as much lies along each new eigenvector v as vᵀΣv.
    const Eigen::VectorXd along_new = vectors.cwiseAbs2().transpose() * before;
    for (const double x : before) at.push_back(x), weight.push_back(-x);
    for (Eigen::Index k = 0; k < after.size(); ++k)
      at.push_back(after(k)), weight.push_back(along_new(k));
    if (largest == largest_) {
      top = std::max(top, after.maxCoeff());
    } else {
      updated(updated.rows() - 1, updated.rows() - 1) += largest - largest_;
      top = std::max(top, symmetric_eigenvalues(updated).maxCoeff());
    }
  }
  // What is at zero stays; a share of nothing is not looked at.
  Eigen::ArrayXd rates(std::ssize(at)), weights(std::ssize(at));
  Eigen::Index count = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (weight[i] == 0) continue;
    rates(count) = 2 * std::log1p(-std::min(at[i] / top, 1 - 1e-15));
    weights(count++) = weight[i];
  }
  rates.conservativeResize(count);
  weights.conservativeResize(count);
  const double all = weights.sum();
  const auto remains = [&](double log_steps) {
    return (weights * (std::exp(log_steps) * rates).exp()).sum() / all;
  };
  LogSteps result;
  const double shares[] = {0.5, 0.1, 0.01};
  for (Eigen::Index i = 0; i < result.size(); ++i) {
    double low = 0, high = std::log(kLongest);
    if (remains(low) <= shares[i]) {
      result(i) = 0;
    } else if (remains(high) > shares[i]) {
      result(i) = kInfinite;
    } else {
      while (high - low > 1e-6) {
        const double middle = (low + high) / 2;
        (remains(middle) > shares[i] ? low : high) = middle;
      }
      result(i) = (low + high) / 2;
    }
  }
  return result;
}

}  // namespace kappascope::linalg
