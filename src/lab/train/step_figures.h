// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kappascope/session/session.h"
#include "lab/train/problems/problem.h"
#include "tensor/allocations.h"

namespace kappascope::train {

/// What the steps of a run take: the memory of their tensors, their time, and the part of it in
/// which they wait for their rows. Counted from its construction on, in the thread that trains.
class StepFigures {
 public:
  /// `problem` must outlive it.
  explicit StepFigures(const Problem& problem);

  /// `watched`: whether probes see the passes of this step.
  void begin_step(bool watched);
  /// Between the two the probes are at work: their time counts, their memory does not.
  void begin_probing();
  void end_probing();
  /// A step of so many rows, those of this process, has ended.
  void end_step(std::int64_t rows);

  /// Writes memory/training and the facts "input" and "memory of training". The memory is the peak
  /// within steps of what tensors take beyond those that were there before the first: gradients,
  /// the optimiser's state, what the graph keeps. What probes keep is left out, where there is a
  /// step that none sees. What the allocators and the process hold besides would hide it in a small
  /// model. In a group all is of process 0. `whole` is false in a run that was resumed, whose
  /// earlier steps were not seen.
  void record(session::Session& session, bool whole) const;

 private:
  /// In bytes.
  struct Peak {
    std::int64_t all = 0, on_host = 0, on_devices = 0;
  };
  void count();

  const Problem& problem_;
  tensor::Allocations counted_;
  Peak watched_, alone_;  ///< of the steps that probes see, and of the others
  bool is_watched_ = false;
  InputTime read_before_, read_;  ///< before this step; in all steps
  double step_began_ = 0, seconds_ = 0;
  std::int64_t rows_ = 0;
};

}  // namespace kappascope::train
