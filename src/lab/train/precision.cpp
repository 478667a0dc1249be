// SPDX-License-Identifier: Apache-2.0
#include "lab/train/precision.h"

#include <torch/types.h>

#include <cmath>

#include "core/require.h"

namespace kappascope::train {
namespace {

constexpr double kFirstScale = 65536, kLargestScale = 16777216;
constexpr std::int64_t kStepsToRaise = 2000;

}  // namespace

std::optional<at::ScalarType> low_precision(const std::string& name) {
  if (name == "float32") return std::nullopt;
  if (name == "bf16") return torch::kBFloat16;
  if (name == "fp16") return torch::kHalf;
  throw UsageError("train.precision must be float32, bf16 or fp16; got '" + name + "'");
}

std::string precision_in_words(const std::string& name) {
  const auto type = low_precision(name);
  if (!type) return name;
  // A feature x is rounded by at most u|x|, evenly spread: its variance gains u²x²/3, below which
  // no eigenvalue is told from rounding.
  const double u = type == torch::kBFloat16 ? std::ldexp(1, -9) : std::ldexp(1, -12);
  return fmt::format(
      "{}: features and gradients of the layers have 16 bits when probes sum them (in double), so "
      "a "
      "condition number above about {:.1g} may be that of rounding; weights, test loss and Hessian "
      "are of float32",
      name,
      3 / (u * u));
}

LossScale::LossScale(const std::string& precision)
    : moves_(low_precision(precision) == torch::kHalf), value_(moves_ ? kFirstScale : 1) {}

bool LossScale::unscale(const std::vector<at::Tensor>& parameters) const {
  if (!moves_) return true;
  std::vector<at::Tensor> gradients;
  for (const auto& parameter : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  if (gradients.empty()) return true;
  const auto options = gradients.front().options().dtype(torch::kFloat);
  auto overflow = torch::zeros({1}, options);
  at::_amp_foreach_non_finite_check_and_unscale_(
      gradients, overflow, torch::full({1}, 1 / value_, options));
  return overflow.item<float>() == 0;
}

bool LossScale::lower() {
  if (!moves_ || value_ <= 1) return false;
  value_ /= 2;
  since_ = 0;
  return true;
}

void LossScale::taken() {
  if (!moves_ || ++since_ < kStepsToRaise) return;
  value_ = std::min(2 * value_, kLargestScale);
  since_ = 0;
}

tensor::State LossScale::state() const {
  tensor::State out;
  out.set("value", value_);
  out.set("since", since_);
  return out;
}

void LossScale::load(const tensor::State& state) {
  if (!moves_) return;
  value_ = state.number("value");
  since_ = state.integer("since");
  require(value_ >= 1 && value_ <= kLargestScale && since_ >= 0,
          "the saved factor of the loss is {}, {} steps old",
          value_,
          since_);
}

}  // namespace kappascope::train
