// SPDX-License-Identifier: Apache-2.0
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/names.h"
#include "core/require.h"
#include "curvature/subsample.h"
#include "kappascope/curvature/sampling.h"

namespace kappascope::curvature {
namespace {

using linalg::KrylovStatus;

void check(const TopEigenvalueOptions& options, int64_t rows) {
  require(options.relative_half_width > 0 && options.first_rows >= 1 && options.block_rows >= 1 &&
              options.first_blocks >= 4 && options.max_passes > 0,
          "a top eigenvalue needs a positive width, batches of a row or more, four blocks and a "
          "positive budget");
  require(options.lanczos.which == linalg::SpectrumEnd::kLargest && options.lanczos.top >= 2,
          "a top eigenvalue needs the two largest eigenvalues of its batch");
  const int64_t fewest = int64_t{2} * options.first_blocks;
  require(rows >= fewest, "a top eigenvalue needs {} rows at least, got {}", fewest, rows);
}

/// The search for one top eigenvalue.
class TopEigenvalueSearch {
 public:
  TopEigenvalueSearch(const RowsOperator& op, int64_t rows, const TopEigenvalueOptions& options)
      : op_(op),
        rows_(rows),
        options_(options),
        order_(shuffled(rows, options.seed)),
        cost_{.all = rows} {}

  TopEigenvalue run() {
    // Half of a small data set is left for the blocks.
    int64_t batch = std::min(options_.first_rows, rows_ / 2);
    block_ = std::min(options_.block_rows, (rows_ - batch) / options_.first_blocks);
    while (take_batch(batch)) {
      int wanted = options_.first_blocks;
      for (;;) {
        while (std::ssize(quotients_) < wanted && add_block()) {
        }
        if (!finite_) return without_numbers();
        if (std::ssize(quotients_) < 2) return result_;
        update();
        if (reached()) return with_status(SamplingStatus::kReached);
        const bool ended = std::ssize(quotients_) < wanted;
        const int64_t seen = result_.batch_rows + result_.fresh_rows;
        batch = std::max(seen, 2 * result_.batch_rows);
        const bool room = batch + options_.first_blocks * block_ <= rows_ && affordable(batch);
        if (!ended && room && result_.deficit > kShare * width()) break;
        if (ended) return result_;
        wanted = next_count();
      }
    }
    return finite_ ? result_ : without_numbers();
  }

 private:
  /// Of the whole width that the deficit may take before the batch grows instead of the blocks.
  static constexpr double kShare = 0.5;
  /// Of an eigenproblem that is worth beginning.
  static constexpr int kFewProducts = 8;

  [[nodiscard]] double half_width() const { return 0.5 * (result_.upper - result_.lower); }
  /// The width asked for, at the value of the moment.
  [[nodiscard]] double width() const {
    return 2 * options_.relative_half_width * std::abs(result_.value);
  }
  [[nodiscard]] bool reached() const { return 2 * half_width() <= width(); }

  TopEigenvalue with_status(SamplingStatus status) {
    result_.status = status;
    return result_;
  }
  TopEigenvalue without_numbers() {
    TopEigenvalue none;
    none.status = SamplingStatus::kNonFinite;
    none.products = cost_.products;
    none.passes = cost_.passes;
    return none;
  }

  void copy_cost() {
    result_.products = cost_.products;
    result_.passes = cost_.passes;
  }

  [[nodiscard]] bool affordable(int64_t rows, int products = kFewProducts) const {
    return cost_.passes + passes_of(rows, rows_, products) <= options_.max_passes;
  }

  /// v and what stands below it, from the first `batch` rows; the blocks start afresh behind them.
  bool take_batch(int64_t batch) {
    if (!affordable(batch)) return false;
    const auto pairs = solve(op_,
                             order_.narrow(0, 0, batch),
                             options_.lanczos,
                             below_.defined() ? below_.sum(0) : at::Tensor(),
                             cost_);
    copy_cost();
    finite_ = pairs.found.status != KrylovStatus::kNonFinite;
    if (!finite_) return false;
    result_.eigenproblem = pairs.found.status;
    result_.batch_value = pairs.found.eigenvalues(0);
    result_.batch_rows = batch;
    result_.fresh_rows = 0;
    result_.vector = pairs.vectors[0].clone();
    values_ = pairs.found.eigenvalues;
    below_ = pairs.vectors;
    quotients_.clear();
    sum_ = torch::zeros_like(result_.vector, torch::kDouble);
    return true;
  }

  /// One product on the next fresh rows; false where data or budget end, or a product fails.
  bool add_block() {
    const int64_t begin = result_.batch_rows + result_.fresh_rows;
    result_.status = begin + block_ > rows_ ? SamplingStatus::kDataEnded : SamplingStatus::kBudget;
    if (result_.status == SamplingStatus::kDataEnded) return false;
    if (!affordable(block_, 1)) return false;
    const auto product = op_(order_.narrow(0, begin, block_))->apply(result_.vector);
    cost_.add(block_, 1);
    copy_cost();
    result_.fresh_rows += block_;
    quotients_.push_back(dot_in_double(product, result_.vector));
    sum_ += product;
    finite_ = std::isfinite(quotients_.back());
    return finite_;
  }

  void update() {
    const auto blocks = static_cast<double>(quotients_.size());
    const Mean mean =
        mean_of(Eigen::Map<const Eigen::ArrayXd>(quotients_.data(), std::ssize(quotients_)));
    result_.quotient = mean.value;
    result_.standard_error = mean.standard_error;
    auto residual = sum_ / blocks;
    residual -= mean.value * result_.vector;
    double rest = dot_in_double(residual, residual), deficit = 0,
           value = -std::numeric_limits<double>::infinity();
    for (Eigen::Index j = 1; j < values_.size(); ++j) {
      value = values_(j);
      const double along = std::pow(dot_in_double(below_[j], residual), 2);
      deficit += below(along, value);
      rest -= along;
    }
    result_.deficit = deficit + below(std::max(rest, 0.0), value);
    result_.value = mean.value + 0.5 * result_.deficit;
    result_.lower = mean.value - mean.reach;
    result_.upper = mean.value + mean.reach + result_.deficit;
    reach_ = mean.reach;
  }

  /// What a share `squared` of the residual at an eigenvalue `value` adds: by the gap, or without
  /// one by the residual itself, the most that it can be. An operator of order one has no rest.
  [[nodiscard]] double below(double squared, double value) const {
    const double gap = result_.quotient - value, length = std::sqrt(squared);
    return gap > length ? squared / gap : length;
  }

  /// Blocks that would bring the interval to the width asked, by the standard error of the moment
  /// and a tenth more; a third more at least, so that looks are few.
  [[nodiscard]] int next_count() const {
    const auto now = static_cast<double>(quotients_.size());
    const double room = std::max(width() - result_.deficit, 0.1 * width());
    const double wanted = 1.1 * now * std::pow(2 * reach_ / room, 2);
    return static_cast<int>(std::ceil(std::clamp(wanted, now * 4 / 3, now * 4)));
  }

  const RowsOperator& op_;
  int64_t rows_, block_ = 0;
  const TopEigenvalueOptions& options_;
  at::Tensor order_;
  ProductCost cost_;
  TopEigenvalue result_;
  Eigen::VectorXd values_;         // of the batch
  at::Tensor below_;               // its eigenvectors, [k, n]
  std::vector<double> quotients_;  // vᵀH_b v
  at::Tensor sum_;                 // Σ H_b v, [n] in double
  double reach_ = 0;
  bool finite_ = true;
};

}  // namespace

const char* to_string(SamplingStatus status) {
  return name_in<SamplingStatus::kNonFinite>(
      std::array{"reached", "data_ended", "budget", "non_finite"}, status);
}

TopEigenvalue top_eigenvalue(const RowsOperator& op,
                             int64_t rows,
                             const TopEigenvalueOptions& options) {
  check(options, rows);
  return TopEigenvalueSearch(op, rows, options).run();
}

}  // namespace kappascope::curvature
