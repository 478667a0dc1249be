// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kappascope/store/run.h"
#include "kappascope/train/probe.h"
#include "kappascope/train/schedule.h"

namespace torch::nn {
class Module;
}

namespace kappascope::train {

class Captures;

struct ScheduledProbe {
  std::unique_ptr<Probe> probe;
  Schedule schedule;
};

/// How the training loss combines its terms (one a token): needed to scale the gradient at a
/// layer's output back to that of one token. A loss over batch and something else (the pixels of an
/// image, say) is a mean where it is divided by the number of tokens, and a sum where it is not.
enum class LossReduction { kMean, kSum };

struct SessionOptions {
  LossReduction reduction = LossReduction::kMean;
  /// Rows of scalars are written at least this often (seconds), and with every emission.
  double flush_seconds = 1.0;
};

/// Probes at work on one training run: arms the taps before a step that a probe wants to see, hands
/// the step to the probes, times them, keeps their budgets, and writes to the run store. Training
/// is bit-identical with and without it.
///
///   Session session(*model, std::move(run), std::move(probes));
///   for (...) {
///     loss = ...; loss.backward(); session.step(loss.item<double>()); optimizer.step();
///   }
///   session.close();
///
/// Gradient accumulation: several forward and backward passes, then one step(). With mean-reduced
/// losses the passes must add up to the mean over all of their rows (loss / passes for passes of
/// equal size), as the gradient that the optimiser sees does.
class Session {
 public:
  /// `model` must outlive the session. Throws when it holds no TappedLinear but a probe needs one.
  Session(torch::nn::Module& model,
          store::RunWriter run,
          std::vector<ScheduledProbe> probes,
          SessionOptions options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// One call a step, after backward() and before the optimiser's update. A learning rate that is
  /// NaN, and a norm of all gradients that is not given, are not written.
  void step(double loss,
            double learning_rate = std::numeric_limits<double>::quiet_NaN(),
            std::optional<double> gradient_norm = std::nullopt);
  /// A further number of the step that step() was last called for (a test loss, say); one of your
  /// own is called "user/...". Throws where the schema of a run has no such series or status.
  void record(store::Scalar scalar);
  /// Runs work outside a training step (an evaluation, an attack) with the taps disabled; otherwise
  /// a pass with gradients would count as one of the next step.
  void outside(const std::function<void()>& work);
  /// `step` = -1: the step that comes next.
  void event(const std::string& kind, const std::string& message, int64_t step = -1);
  void flush();
  /// Writes pending data and the state ("finished", "interrupted", "failed"), and detaches from the
  /// model. The destructor calls it with "interrupted" if it was not called.
  void close(const std::string& state = "finished");

  [[nodiscard]] int64_t next_step() const { return step_; }
  [[nodiscard]] store::RunWriter& run() { return run_; }
  /// The scalars of the latest emission of each probe, for a progress line.
  [[nodiscard]] const std::vector<store::Scalar>& latest() const { return latest_; }

  /// Between two steps: writes out what is pending, and returns the number of steps taken and what
  /// the probes have summed up.
  [[nodiscard]] tensor::State state();
  /// Throws Error when a probe of this session is not in the state.
  void load(const tensor::State& state);
  /// Writes state() to a file, from which probes::resume() goes on in another process.
  void save(const std::filesystem::path& file);

 private:
  struct Running;

  void grant_windows();
  void open_taps();
  void observe(double loss, double learning_rate);
  bool emit(store::Snapshot& snapshot);
  void record_costs(store::Snapshot& out) const;

  store::RunWriter run_;
  std::vector<Running> probes_;
  SessionOptions options_;
  std::unique_ptr<Captures> captures_;
  int64_t step_ = 0;
  bool closed_ = false;
  std::vector<store::Snapshot> pending_;
  std::vector<store::Scalar> latest_;
  double started_ = 0, probing_ = 0, flushed_ = 0;
};

}  // namespace kappascope::train
