// SPDX-License-Identifier: Apache-2.0
/// @file
/// How much longer a step of the optimiser could be, by evaluations of the loss alone.
#pragma once

#include <ATen/core/Tensor.h>

#include <limits>
#include <utility>
#include <vector>

#include "kappascope/curvature/operators.h"
#include "kappascope/tensor/group.h"

namespace kappascope::curvature {

struct CriticalStepOptions {
  double tolerance = 0.5;   ///< on upper / lower - 1
  int max_evaluations = 8;  ///< 3 at least; two are at the start of the step
  double guess = 8;   ///< the multiple tried first: what an earlier step had saves evaluations
  double growth = 6;  ///< from one to the next until the loss is above; less after a good guess
  /// The processes whose mean loss it is (collective); null: this one's. The loss of one that
  /// throws counts as no number in all of them, and it throws that once they are through.
  tensor::Group* group = nullptr;
};

enum class CriticalStepStatus {
  kResolved,        ///< the bounds differ by the tolerance at most
  kMaxEvaluations,  ///< by more
  kNotReached,      ///< the loss was nowhere above that at the start: no upper bound
  kAscends,         ///< it was above at every multiple, of which `upper` is the smallest
};
/// "resolved", "max_evaluations", "not_reached", "ascends".
const char* to_string(CriticalStepStatus status);

/// The multiple m of a step u at which loss(θ + m u) is again loss(θ).
struct CriticalStep {
  CriticalStepStatus status = CriticalStepStatus::kMaxEvaluations;
  /// Where the parabola through the losses at 0 and both bounds is back; NaN without both.
  double value = std::numeric_limits<double>::quiet_NaN();
  double lower = 0;  ///< the loss here is not above that at the start, as evaluated
  double upper = std::numeric_limits<double>::infinity();  ///< and here it is
  std::vector<std::pair<double, double>> points = {};      ///< multiples and losses, as they came
  int evaluations = 0;
};

/// Searches along the step from `before` (one tensor a parameter) to the parameters as they are,
/// which are displaced and put back bit for bit. 2 over m times the learning rate is the critical
/// sharpness (arXiv 2601.16979): for a quadratic loss and a step along -u it is uᵀHu / gᵀu, at most
/// the largest eigenvalue of P^(-1/2) H P^(-1/2) where u = P⁻¹ g. Between bounds the zero of
/// the mean slope (loss(m) - loss(0)) / m is interpolated. Losses of language models were seen to
/// rise more slowly than a parabola, so that 2 over m is less than what H says at the start of the
/// step: the multiple is that of the loss as it is. Five to eight evaluations; no derivative.
/// Throws Error where the loss is not finite at the start, is another at a second evaluation there,
/// or the step has no length; and for shapes that do not fit.
CriticalStep critical_step(const LossFunction& loss,
                           const NamedParameters& parameters,
                           const std::vector<at::Tensor>& before,
                           const CriticalStepOptions& options = {});

}  // namespace kappascope::curvature
