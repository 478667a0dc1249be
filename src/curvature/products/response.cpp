// SPDX-License-Identifier: Apache-2.0
#include "curvature/products/response.h"

#include <torch/types.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/require.h"
#include "curvature/gathered.h"
#include "curvature/products/displaced.h"
#include "curvature/products/evaluation.h"

namespace kappascope::curvature {
namespace {

/// The coarsest type whose rounding a sum of changes is looked for above.
constexpr double kFine = 0x1p-24;

class Search {
 public:
  explicit Search(const Differenced& function) : function_(function), first_(function.value()) {
    for (const auto& named : function.parameters) tensors_.push_back(named.second);
    const auto count = static_cast<Eigen::Index>(tensors_.size());
    Eigen::VectorXd lengths(count), slopes(count), numbers(count);
    int64_t begin = 0;
    for (Eigen::Index i = 0; i < count; ++i) {
      const auto& tensor = tensors_[static_cast<std::size_t>(i)];
      parts_.push_back({begin, tensor.numel()});
      begin += tensor.numel();
      lengths[i] = squared_length(tensor.detach());
      slopes[i] = squared_length(part_of(function.slope, parts_.back()));
      numbers[i] = static_cast<double>(tensor.numel());
    }
    lengths = added_up(lengths, function.group);
    slopes = added_up(slopes, function.group).cwiseSqrt();
    numbers = added_up(numbers, function.group);
    // Zeros, as biases begin, may move as far as others of their number.
    const double mean_square = lengths.sum() > 0 ? lengths.sum() / numbers.sum() : 1;
    const Eigen::VectorXd reaches = lengths.cwiseMax(mean_square * numbers).cwiseSqrt() / 32;
    // In units of the last place. A value of 16 bits is compared bit by bit.
    const double units = function.value_roundoff <= kFine ? 64 : 4;
    span_ = units * function.value_roundoff * (std::abs(first_) + reaches.dot(slopes));
    for (Eigen::Index i = 0; i < count; ++i) {
      if (!(slopes[i] > 0 && reaches[i] * slopes[i] >= span_)) continue;
      auto& part = parts_[static_cast<std::size_t>(i)];
      part.slope = slopes[i];
      part.reach = reaches[i];
      tested_.push_back(static_cast<std::size_t>(i));
    }
  }

  void find() const {
    if (!tested_.empty()) find(0, tested_.size());
  }

 private:
  struct Part {
    int64_t begin = 0, size = 0;
    double slope = 0, reach = 0;
  };

  static at::Tensor part_of(const at::Tensor& flat, const Part& part) {
    return flat.narrow(0, part.begin, part.size);
  }

  void find(std::size_t begin, std::size_t end) const {
    if (function_.roundoff <= kFine && adds_up(begin, end)) return;
    if (end - begin > 1) {
      const auto middle = begin + (end - begin) / 2;
      find(begin, middle);
      find(middle, end);
      return;
    }
    const auto i = tested_[begin];
    require(responds(parts_[i]),
            "the loss has a slope in parameter {} and stays the same where that is displaced: it "
            "uses something that was computed from the parameter before and kept (quantised "
            "weights, a cast, a frozen graph), so that differences of gradients would be wrong. "
            "Compute it inside the loss, or leave this parameter out",
            function_.parameters[i].first);
  }

  [[nodiscard]] double at(const at::Tensor& direction, double h) const {
    Displaced displaced(tensors_);
    displaced.move(direction, h);
    return function_.value();
  }

  /// Whether each of these parameters has its part in the change.
  [[nodiscard]] bool adds_up(std::size_t begin, std::size_t end) const {
    auto direction = torch::zeros_like(function_.slope);
    for (auto i = begin; i < end; ++i) {
      const auto& part = parts_[tested_[i]];
      part_of(direction, part)
          .add_(part_of(function_.slope, part), span_ / (part.slope * part.slope));
    }
    const double change = at(direction, 1) - at(direction, -1);
    return std::abs(change - 2 * span_ * static_cast<double>(end - begin)) < span_;
  }

  /// Whether moving it alone changes anything. Along the slope and against it, a quadratic changes
  /// by the slope at least on one side. Graphs of 16 bits round by more than the slope may tell,
  /// but not to the same bits, at the latest where the parameter moves by twice its length.
  [[nodiscard]] bool responds(const Part& part) const {
    auto direction = torch::zeros_like(function_.slope);
    part_of(direction, part).add_(part_of(function_.slope, part), part.reach / part.slope);
    const double again = std::abs(function_.value() - first_);
    for (const double h : {1, 8, 64}) {
      const double least =
          function_.roundoff <= kFine ? h * part.reach * part.slope / 8 : 4 * again;
      const double up = std::abs(at(direction, h) - first_);
      const double down = std::abs(at(direction, -h) - first_);
      if (!(up <= least && down <= least)) return true;
    }
    return false;
  }

  const Differenced& function_;
  std::vector<at::Tensor> tensors_;
  double first_;
  double span_ = 0;  // the change that each parameter is to make
  std::vector<Part> parts_;
  std::vector<std::size_t> tested_;
};

}  // namespace

void require_response(const Differenced& function) {
  Search(function).find();
}

}  // namespace kappascope::curvature
