// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kappascope/core/statistics.h"
#include "reports/diagnosis/diagnosis.h"
#include "reports/findings.h"
#include "reports/runs/arms.h"

namespace kappascope::reports {

/// A number, with its interval, beside what it is compared with; all above zero.
struct Gauge {
  std::optional<double> value{}, lower{}, upper{};  ///< without a value, resolved to bounds alone
  double threshold = 1;
  std::optional<Interval> usual{};  ///< where such numbers usually lie
};

/// What one arm contributes to an answer.
struct Reading {
  std::size_t arm = 0;
  std::string number{};    ///< "κ = 1.2×10⁴ in blocks.2"
  std::string interval{};  ///< "95 %: 10⁴–1.4×10⁴", or why there is none
  std::optional<Gauge> gauge{};
};

/// One of the questions that every run is asked, answered from the store.
struct Answer {
  std::string id{};        ///< "worst_layer"; stays the same between versions
  std::string question{};  ///< "Which layer is worst conditioned?"
  std::string answer{};    ///< "blocks.2.down_proj", "yes", "cannot tell"
  Grade grade = Grade::kOpen;
  std::vector<Reading> readings{};  ///< what it rests on, the arm that decides first
  std::string threshold{};          ///< what the readings are compared with: "the run's 936 steps"
  std::string interval = "95 % interval";  ///< what the thick part of their bars is
  std::string usual{};                     ///< what the shaded part of their bars is; may be empty
  std::string why{};                       ///< why this grade, and what to do about it
  std::string figure{};                    ///< id of the section that shows it; may be empty
};

/// The first screen of a report in words.
struct Summary {
  std::string headline{};
  std::string basis{};      ///< "one run per arm", "medians of 3 seeds"; empty for one run
  std::string certainty{};  ///< what the headline does not say, and how to be surer
  std::string facts{};      ///< model, data, optimiser, rate, steps, seeds; what was stored
  /// Worst layer, learning rate, bias, trust and cost, what to do next.
  std::vector<Answer> answers{};
};

Summary summarise(const std::vector<Arm>& arms);

/// What stands out, with the figure that shows it.
struct Highlight {
  std::string text{};       ///< a sentence
  std::string certainty{};  ///< its interval; may be empty
  std::string todo{};       ///< what to do about it; empty: nothing
  std::string figure{};     ///< id of a figure, which may not be drawn; may be empty
  bool warning = false;     ///< a reader should not overlook it
  bool bad = false;         ///< nor put it off
};
/// At most three, the most urgent first: what the numbers ask for, then one finding a topic.
std::vector<Highlight> highlights(const std::vector<Arm>& arms,
                                  const std::vector<Finding>& findings);

}  // namespace kappascope::reports
