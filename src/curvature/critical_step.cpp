// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/critical_step.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>

#include "core/names.h"
#include "core/require.h"
#include "curvature/products/displaced.h"
#include "curvature/products/evaluation.h"

namespace kappascope::curvature {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFarthest = 0x1p20, kNearest = 0x1p-20;
constexpr double kMostShrinking = 64;  // what two points foretell is not followed farther at once

/// The steps back from the parameters to where they were, one after the other.
at::Tensor way_back(const NamedParameters& parameters, const std::vector<at::Tensor>& before) {
  require(before.size() == parameters.size(),
          "a step needs the values of {} parameters before it, got {}",
          parameters.size(),
          before.size());
  std::vector<at::Tensor> parts;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto& [name, now] = parameters[i];
    require(before[i].defined() && before[i].sizes() == now.sizes(),
            "parameter {} had another shape before the step",
            name);
    const auto type = now.scalar_type() == torch::kDouble ? torch::kDouble : torch::kFloat;
    parts.push_back((before[i].to(now.device(), type) - now.detach().to(type)).flatten());
  }
  return torch::cat(parts);
}

/// The loss along the step.
class Line {
 public:
  Line(const LossFunction& loss,
       const NamedParameters& parameters,
       const std::vector<at::Tensor>& before,
       tensor::Group* group)
      : loss_(loss),
        group_(group),
        back_(way_back(parameters, before)),
        displaced_(tensors_of(parameters)) {}

  double at(double multiple) {
    displaced_.move(back_, 1 - multiple);
    const torch::NoGradGuard no_grad;
    const Undisturbed undisturbed;
    ++evaluations_;
    const auto evaluated = [&] {
      const auto value = loss_();
      require(value.numel() == 1, "the loss must be one number, and has {}", value.numel());
      return value.to(torch::kDouble).item<double>();
    };
    if (group_ == nullptr) return evaluated();
    double found = kNaN;
    try {
      if (!failed_) found = evaluated();
    } catch (const tensor::LostProcess&) {
      throw;
    } catch (...) {
      failed_ = std::current_exception();
    }
    return mean_of(found);
  }
  /// What ended the loss here, where the others went on.
  void rethrow() const {
    if (failed_) std::rethrow_exception(failed_);
  }
  [[nodiscard]] int evaluations() const { return evaluations_; }
  /// The largest displacement, NaN where one is none: every process must agree, so that all go on
  /// or none does.
  [[nodiscard]] double length() const { return mean_of(back_.abs().max().item<double>()); }

 private:
  [[nodiscard]] double mean_of(double value) const {
    if (group_ == nullptr) return value;
    auto sum = torch::full({1}, value, torch::kDouble);
    group_->add_up(sum);
    return sum.item<double>() / group_->size();
  }

  const LossFunction& loss_;
  tensor::Group* group_;
  std::exception_ptr failed_;
  at::Tensor back_;
  Displaced displaced_;
  int evaluations_ = 0;
};

/// Mean slopes (loss(m) - loss(0)) / m by multiple, infinite where the loss is no number.
using Slopes = std::map<double, double>;

/// Where the line between the slopes at both is 0; NaN: they do not rise.
double crossing(double a, double b, const Slopes& slopes) {
  const double steepness = (slopes.at(b) - slopes.at(a)) / (b - a);
  return steepness > 0 ? a - slopes.at(a) / steepness : kNaN;
}

/// What to try next between the bounds: just beyond where the slope is 0, on the side that is
/// farther off.
double between(double lower, double upper, const Slopes& slopes, double tolerance) {
  const double middle = std::sqrt(lower * upper);
  if (std::isinf(slopes.at(upper))) return middle;
  // On a logarithmic axis: the slope rises less steeply farther out.
  const double share = slopes.at(lower) / (slopes.at(lower) - slopes.at(upper));
  const double there = lower * std::pow(upper / lower, share);
  const double above = there * (1 + tolerance / 3), below = there * (1 - tolerance / 3);
  const bool may_rise = above < upper, may_fall = lower < below;
  if (may_rise && may_fall) return upper / above > below / lower ? above : below;
  return may_rise ? above : may_fall ? below : middle;
}

/// What to try next where the loss was above at every multiple, of which `upper` is the smallest.
double shorter(double upper, const Slopes& slopes, const CriticalStepOptions& options) {
  const auto larger = slopes.upper_bound(upper);
  const double there = larger != slopes.end() && std::isfinite(larger->second)
                           ? crossing(upper, larger->first, slopes)
                           : kNaN;
  return there < upper ? std::max(there * (1 - options.tolerance / 2), upper / kMostShrinking)
                       : upper / options.growth;
}

}  // namespace

const char* to_string(CriticalStepStatus status) {
  return name_in<CriticalStepStatus::kAscends>(
      std::array{"resolved", "max_evaluations", "not_reached", "ascends"}, status);
}

CriticalStep critical_step(const LossFunction& loss,
                           const NamedParameters& parameters,
                           const std::vector<at::Tensor>& before,
                           const CriticalStepOptions& options) {
  require(options.max_evaluations >= 3 && options.tolerance > 0 && options.guess > 0 &&
              options.growth > 1,
          "a critical step needs three evaluations at least, a positive tolerance and guess, and a "
          "growth above 1");
  const torch::NoGradGuard no_grad;
  Line line(loss, parameters, before, options.group);
  const double length = line.length();
  require(length != 0, "the parameters are as they were before: there is no step");
  require(std::isfinite(length), "the parameters are not finite, before the step or after it");
  CriticalStep found;
  const double first = line.at(0), again = line.at(0);
  line.rethrow();
  require(std::isfinite(first), "the loss is not finite before the step: {}", first);
  // Sums in no fixed order differ by a few roundoffs.
  require(std::abs(again - first) <= 1e-6 * std::abs(first),
          "the loss is not deterministic (two evaluations gave {:.9g} and {:.9g}): switch dropout "
          "off or freeze its masks, and use a fixed batch",
          first,
          again);
  found.points.emplace_back(0, first);
  const auto close = [&] { return found.upper <= found.lower * (1 + options.tolerance); };
  Slopes slopes;
  double multiple = options.guess;
  while (line.evaluations() < options.max_evaluations && !close() && kNearest < multiple &&
         multiple < kFarthest) {
    const double there = line.at(multiple);
    found.points.emplace_back(multiple, there);
    slopes[multiple] = std::isfinite(there) ? (there - first) / multiple : kInfinity;
    // What is no number lies beyond where a step is of use.
    (there <= first ? found.lower : found.upper) = multiple;
    if (found.upper == kInfinity) {
      multiple *= options.growth;
    } else if (found.lower == 0) {
      multiple = shorter(found.upper, slopes, options);
    } else {
      multiple = between(found.lower, found.upper, slopes, options.tolerance);
    }
  }
  line.rethrow();
  found.evaluations = line.evaluations();
  if (found.lower == 0) {
    found.status = CriticalStepStatus::kAscends;
  } else if (found.upper == kInfinity) {
    found.status = CriticalStepStatus::kNotReached;
  } else {
    found.value = std::isinf(slopes.at(found.upper)) ? std::sqrt(found.lower * found.upper)
                                                     : crossing(found.lower, found.upper, slopes);
    if (close()) found.status = CriticalStepStatus::kResolved;
  }
  return found;
}

}  // namespace kappascope::curvature
