// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

#include "kappascope/store/run.h"
#include "reports/diagnosis/diagnosis.h"

namespace kappascope::reports {

/// A run in a line, as `kappascope runs` lists it: the numbers of its report. NaN: none.
struct RunSummary {
  std::string label{}, state{}, created{};
  /// From its start to the last step that training wrote, without the pauses between a stop and the
  /// resumption that went on after it.
  double seconds = std::numeric_limits<double>::quiet_NaN();
  std::int64_t steps = 0;
  double loss = std::numeric_limits<double>::quiet_NaN();
  double test_loss = std::numeric_limits<double>::quiet_NaN();
  /// Of the W_d block at its last measurement: with (μ+b)(μ+b)ᵀ where the layer has a bias, else
  /// with μμᵀ.
  struct Worst {
    std::string layer{};  ///< empty where none was measured
    store::Scalar scalar{};
  };
  Worst slowest{};          ///< most steps of gradient descent to learn 90 %
  Worst worst_kappa{};      ///< the largest κ
  Diagnosis worst_layer{};  ///< the answer of the report: by steps where they were measured
  std::size_t damaged = 0;  ///< of the rows that were read
};

/// Reads what it takes of the run. Throws Error where there is none.
RunSummary summary_of(const std::filesystem::path& run);

}  // namespace kappascope::reports
