// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kappascope/tensor/state.h"

namespace kappascope::train {

/// float32: nothing; bf16 and fp16: the type that autocast takes. Throws UsageError.
std::optional<at::ScalarType> low_precision(const std::string& name);

/// What a run in this precision has measured, for the run's facts: which numbers are of 16 bits,
/// and from which condition number on rounding alone would give it.
std::string precision_in_words(const std::string& name);

/// The factor of the loss whose gradients still are numbers of 16 bits with an exponent of five:
/// halved where they overflow, doubled after 2,000 steps without that (Micikevicius et al. 2018,
/// "Mixed precision training").
class LossScale {
 public:
  /// 1 and constant where the precision needs none.
  explicit LossScale(const std::string& precision = "float32");
  [[nodiscard]] double value() const { return value_; }
  /// Divides gradients by the factor. Returns whether all are finite.
  [[nodiscard]] bool unscale(const std::vector<at::Tensor>& parameters) const;
  /// Halves it after an overflow. Returns whether that makes sense: not below 1.
  bool lower();
  /// A step was taken.
  void taken();

  [[nodiscard]] tensor::State state() const;
  /// Throws Error on a factor that is none.
  void load(const tensor::State& state);

 private:
  bool moves_;
  double value_ = 1;
  std::int64_t since_ = 0;  // steps since it last changed
};

}  // namespace kappascope::train
