// SPDX-License-Identifier: Apache-2.0
#include "tensor/weight_changes.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/require.h"
#include "kappascope/core/statistics.h"

namespace kappascope::tensor {
namespace {

constexpr int64_t kGroups = 16;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Every k-th entry of a matrix, row by row, in double on the host. k has no divisor in common with
/// the columns, so that all of them are met.
at::Tensor entries_of(const at::Tensor& matrix) {
  const auto columns = matrix.size(1);
  int64_t k = std::max<int64_t>(1, matrix.numel() / WeightChanges::kEntries);
  while (std::gcd(k, columns) != 1) ++k;
  const auto flat =
      torch::arange(0, matrix.numel(), k, torch::dtype(torch::kLong).device(matrix.device()));
  return matrix.index({flat.div(columns, "floor"), flat.remainder(columns)})
      .to(torch::kCPU)
      .to(torch::kDouble);
}

}  // namespace

void WeightChanges::observe(int64_t step, const at::Tensor& matrix) {
  require(matrix.defined() && matrix.dim() == 2 && matrix.is_floating_point() && matrix.numel() > 0,
          "the update of a matrix needs a matrix of floating-point numbers");
  require(numel_ == 0 || numel_ == matrix.numel(),
          "a matrix of {} numbers has {} in a later step",
          numel_,
          matrix.numel());
  if (numel_ != 0 && step == last_step_) return;
  const torch::NoGradGuard no_grad;
  const auto now = entries_of(matrix.detach());
  if (numel_ != 0 && step == last_step_ + 1) {
    if (steps_++ == 0) {
      moved_ = torch::zeros_like(now);
      size_ = torch::zeros_like(now);
      unchanged_ = torch::zeros_like(now);
    }
    moved_.add_((now - last_).square_());
    size_.add_(last_.square());
    unchanged_.add_(now == last_);
  }
  numel_ = matrix.numel();
  last_step_ = step;
  last_ = now;
}

WeightChanges::Ratio WeightChanges::ratio() const {
  if (steps_ == 0) return {kUnknown, kUnknown, kUnknown};
  const double size = size_.sum().item<double>();
  const double squared = moved_.sum().item<double>() / size;
  const double value = std::sqrt(squared);
  const auto n = static_cast<double>(last_.numel());
  const double unseen = 1 - n / static_cast<double>(numel_);
  if (unseen <= 0) return {value, value, value};
  if (squared == 0) return {value, kUnknown, kUnknown};  // what was not looked at may have moved
  // Every kGroups-th entry is a sample of its own: without each of them in turn.
  const auto group = torch::arange(last_.numel()).remainder(kGroups);
  const auto without = [&](const at::Tensor& of) {
    return of.sum() - torch::zeros({kGroups}, torch::kDouble).index_add(0, group, of);
  };
  const auto logarithms = (without(moved_) / without(size_)).log() / 2;
  const double spread = (logarithms - logarithms.mean()).square().sum().item<double>();
  const double error = std::sqrt(unseen * spread * (kGroups - 1) / kGroups);
  const double factor = std::exp(student_quantile(0.975, kGroups - 1) * error);
  return {value, value / factor, value * factor};
}

std::vector<double> WeightChanges::unchanged() const {
  if (steps_ == 0) return {};
  const auto* begin = unchanged_.const_data_ptr<double>();
  return {begin, begin + unchanged_.numel()};
}

State WeightChanges::state() const {
  State out;
  out.set("numel", numel_);
  out.set("step", last_step_);
  out.set("steps", steps_);
  if (numel_ != 0) out.set("last", last_);
  if (steps_ == 0) return out;
  out.set("moved", moved_);
  out.set("size", size_);
  out.set("unchanged", unchanged_);
  return out;
}

void WeightChanges::load(const State& state) {
  WeightChanges loaded;
  loaded.numel_ = state.integer("numel");
  loaded.last_step_ = state.integer("step");
  loaded.steps_ = state.integer("steps");
  require(loaded.numel_ >= 0 && loaded.steps_ >= 0 && (loaded.numel_ > 0 || loaded.steps_ == 0),
          "a matrix cannot have {} numbers, compared over {} steps",
          loaded.numel_,
          loaded.steps_);
  if (loaded.numel_ != 0) loaded.last_ = state.tensor("last", torch::kDouble, {-1});
  if (loaded.steps_ > 0) {
    const auto n = loaded.last_.numel();
    loaded.moved_ = state.tensor("moved", torch::kDouble, {n});
    loaded.size_ = state.tensor("size", torch::kDouble, {n});
    loaded.unchanged_ = state.tensor("unchanged", torch::kDouble, {n});
  }
  *this = loaded;
}

}  // namespace kappascope::tensor
