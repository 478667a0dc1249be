// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kappascope/core/surges.h"
#include "kappascope/store/schema/alarms.h"

namespace kappascope::session {

struct Alarm {
  store::AlarmId id{};
  std::int64_t step = 0;
  std::string layer{};    ///< empty for the whole model
  std::string message{};  ///< the numbers that it rests on, a sentence without the layer
};

/// "alarm gradient_norm at step 120: …", of several the first with the names of the others: a line.
std::string in_words(const std::vector<Alarm>& alarms);

/// A number of a layer that moved: by this factor, and so far that its interval and that of the
/// last alarm (or of the first measurement) lie apart.
struct ChangeOptions {
  double factor = 2;
};

struct SharpnessOptions {
  int measurements = 3;  ///< in a row: one alone is what the edge of stability swings by
};

/// A surge (core/surges.h): far above all before it, and so far that a run without one has it told
/// with a known chance.
using GradientNormOptions = SurgeOptions;

struct GradientNoiseOptions {
  double factor = 10;  ///< the critical batch over the batch, by its lower bound: 9 of 10 parts of
                       ///< a step are noise
};

/// More features than at the last alarm, and at least so many.
struct CountOptions {
  double least = 1;
};

/// The rules. Nothing in place of one leaves it out.
struct AlarmOptions {
  std::optional<ChangeOptions> kappa =
      ChangeOptions{2};  ///< a resolved κ is known to a factor of 2
  std::optional<ChangeOptions> effective_rank =
      ChangeOptions{1.25};  ///< it is known far better, and moves slowly
  std::optional<SharpnessOptions> sharpness = SharpnessOptions{};
  std::optional<GradientNormOptions> gradient_norm = GradientNormOptions{};
  std::optional<GradientNoiseOptions> gradient_noise = GradientNoiseOptions{};
  std::optional<CountOptions> dead_units = CountOptions{};
  std::optional<CountOptions> bfloat16 = CountOptions{};
  bool non_finite = true;
  /// Told of the alarms of a step, after it is written. Empty: they become a line on stderr. What
  /// it throws comes out of Session::step().
  std::function<void(const std::vector<Alarm>&)> on_alarm = {};
};

}  // namespace kappascope::session
