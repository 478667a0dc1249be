// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/runs/arms.h"

namespace kappascope::reports {

/// How things stand, in a word and a colour; what asks for more attention is the larger.
enum class Grade { kGood, kOpen, kWatch, kBad };
/// "good", "cannot tell", "watch", "bad".
std::string to_string(Grade grade);

/// What one arm contributes to an answer.
struct Reading {
  std::size_t arm = 0;
  std::string number{};    ///< "κ = 1.2×10⁴ in blocks.2"
  std::string interval{};  ///< "95 %: 10⁴–1.4×10⁴", or why there is none
};

/// One of the questions that every run is asked, answered from the store.
struct Answer {
  std::string id{};        ///< "worst_layer"; stays the same between versions
  std::string question{};  ///< "Which layer is worst conditioned?"
  std::string answer{};    ///< "blocks.2.down_proj", "yes", "cannot tell"
  Grade grade = Grade::kOpen;
  std::vector<Reading> readings{};  ///< what it rests on, the arm that decides first
  std::string why{};                ///< why this grade, and what to do about it
  std::string figure{};             ///< id of the section that shows it; may be empty
};

/// The first screen of a report in words.
struct Summary {
  std::string headline{}, certainty{};
  std::string facts{};            ///< model, optimiser, rate, steps, seeds, data; what was stored
  std::vector<Answer> answers{};  ///< worst layer, learning rate, bias, cost
  Answer trust{};                 ///< how far the others can be trusted
};

Summary summarise(const std::vector<Arm>& arms);

/// Whether the losses of the two may be compared: same data, same loss, as far as they say.
bool same_problem(const Arm& a, const Arm& b);

/// The step from which on the loss was no number.
std::optional<std::int64_t> diverged_at(const Arm& arm);

/// A layer and its last measurement; nothing where no layer has one.
struct WorstLayer {
  std::string layer{};
  const store::StepValue* point = nullptr;
  bool in_steps = false;  ///< `point` is of steps to learn 90 %, else of κ of the W_d block
};
/// The layer with the largest κ of the W_d block.
WorstLayer worst_conditioned_of(const Arm& arm);
/// The layer that needs most steps of gradient descent to learn 90 %: by their number where it is
/// resolved, else by the least that it can be.
WorstLayer slowest_layer_of(const Arm& arm);
/// The slowest layer where learning times were measured, else the worst conditioned.
WorstLayer worst_layer_of(const Arm& arm);
/// "45" where it is resolved, else "at least 33".
std::string steps_in_words(const store::Scalar& steps);
/// That of the slowest arm; empty where nobody measured them.
std::string slowest_layer_of(const std::vector<Arm>& arms);

}  // namespace kappascope::reports
