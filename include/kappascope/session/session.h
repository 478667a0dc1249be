// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kappascope/session/alarms.h"
#include "kappascope/session/probe.h"
#include "kappascope/session/schedule.h"
#include "kappascope/store/run.h"
#include "kappascope/tensor/group.h"
#include "kappascope/tensor/state.h"

namespace kappascope::session {

class AlarmsWatch;
class Passes;
class ProbeSet;
class RunRecord;

struct ScheduledProbe {
  std::unique_ptr<Probe> probe;
  Schedule schedule;
  std::string budget_setting = "budget";  ///< what a user calls the budget
  double budget_part = 1;                 ///< of that setting, which schedule.budget is
};

/// How the training loss combines its terms (one a token): needed to scale the gradient at a
/// layer's output back to that of one token. A loss over batch and something else (the pixels of an
/// image, say) is a mean where it is divided by the number of tokens, and a sum where it is not.
enum class LossReduction { kMean, kSum };

struct SessionOptions {
  LossReduction reduction = LossReduction::kMean;
  /// Rows of features that a step keeps of each layer, in whole passes of gradient accumulation;
  /// the first is always kept, and 0 keeps all. Rows of a shuffled batch are a sample of it.
  int64_t rows = 0;
  /// Features of each layer that is to come, by which the first window is presumed to cost; empty:
  /// not known.
  std::vector<int64_t> widths = {};
  /// Where they are; its speed says what of that cost is presumed. No value: two cores of 2024.
  std::optional<c10::Device> device = {};
  /// Rows of scalars are written at least this often (seconds), and with every emission.
  double flush_seconds = 1.0;
  /// Rules over what is written: an alarm is an event of the run, and a line on stderr or a call of
  /// alarms.on_alarm. In a group process 0 raises them.
  AlarmOptions alarms = {};
  /// The processes that train together, each with a session of the same probes; null: this alone.
  std::shared_ptr<tensor::Group> group = {};
};

/// A watched run: hands each step to the probes that look at it, times them, keeps their budgets,
/// and writes to the run store. It knows no module: a front end (probes::TappedSession for taps,
/// the Python package for hooks) gives passes() what the watched layers let pass, as far as needs()
/// asks for it.
///
/// In a group each process takes its steps with the others, process 0 decides what is measured and
/// writes the run. At the end of a window the layers are shared out: what all observed of a layer
/// is added up in one of them, which computes its numbers. The losses are those of process 0.
///
/// A run that is removed or replaced while it is written goes on in a copy beside it (RunWriter).
/// The call that found it throws Error, once, with everything written and the step counted. Where
/// nothing can be written, step() says so once and goes on: it is held, up to 64 MiB, and tried
/// again after 1, 2, 4, ... 60 seconds, while flush(), state() and close() throw.
///
/// One thread at a time, but that record(), event() and flush() may be called from any. In a
/// process forked from the one that made it a session does nothing, and record() throws.
class Session {
 public:
  /// `run`: none in the processes of a group but the first. In a group the constructor is
  /// collective, as is step().
  Session(std::optional<store::RunWriter> run,
          std::vector<ScheduledProbe> probes,
          SessionOptions options = {});
  /// Closes with "interrupted" what was not closed.
  virtual ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// What the probes want to see of the next step.
  [[nodiscard]] Needs needs() const;
  /// Where the front end puts it.
  [[nodiscard]] const std::shared_ptr<Passes>& passes() const { return passes_; }

  /// One call a step, after backward() and before the optimiser's update. A loss or a norm of all
  /// gradients that is not given, and a learning rate that is NaN, are not written: what is not
  /// known raises no alarm. Returns whether a probe ended its window: latest() is new.
  /// `terms`: how many terms (tokens with a label, say) a mean-reduced loss is the mean over, where
  /// these are not the rows that passed the layers; 0: they are.
  bool step(std::optional<double> loss,
            double learning_rate = std::numeric_limits<double>::quiet_NaN(),
            std::optional<double> gradient_norm = std::nullopt,
            double terms = 0);
  /// The same in two calls, for a step whose loss and norm a device has not computed yet: they may
  /// come after further steps, each in its turn. Nothing of a step is written, and it raises no
  /// alarm, before they came; what waits when the run is closed is written without them.
  bool begin_step(double learning_rate = std::numeric_limits<double>::quiet_NaN(),
                  double terms = 0);
  void complete_step(std::optional<double> loss,
                     std::optional<double> gradient_norm = std::nullopt);
  /// A further number of the step that step() was last called for (a test loss, say); one of your
  /// own is called "user/...". Throws where the schema of a run has no such series or status.
  void record(store::Scalar scalar);
  /// Runs work outside a training step (an evaluation, an attack) unseen; otherwise a pass with
  /// gradients would count as one of the next step.
  void outside(const std::function<void()>& work);
  /// What is the same for all steps, such as where the losses come from. A later value replaces an
  /// earlier one.
  void fact(const std::string& key, const std::string& value);
  /// `step` = -1: the last one, as of record().
  void event(const std::string& kind, const std::string& message, std::int64_t step = -1);
  void flush();
  /// Writes pending data and the state ("finished", "interrupted", "failed"); nothing is seen from
  /// then on.
  void close(const std::string& state = "finished");

  [[nodiscard]] std::int64_t next_step() const { return step_; }
  /// Whether this process writes the run: alone it does, of a group the first.
  [[nodiscard]] bool writes() const;
  /// Throws Error in a process that does not write it.
  [[nodiscard]] store::RunWriter& run();
  /// Whether run() is the copy of a run that is no longer there.
  [[nodiscard]] bool is_rescued() const;
  /// Those of the step that was completed last.
  [[nodiscard]] const std::vector<Alarm>& alarms() const { return raised_; }
  /// The scalars of the latest emission of each probe, for a progress line.
  [[nodiscard]] const std::vector<store::Scalar>& latest() const { return latest_; }

  /// Whether step() will be collective: a window ends in it, or the next one opens.
  [[nodiscard]] bool meets() const;
  /// From now on this process takes its steps by itself: no window is measured any more. For one
  /// whose group takes other steps; each process must call it before the same step().
  void leave_group();

  /// The processes that train together; null: this alone.
  [[nodiscard]] tensor::Group* group() const { return options_.group.get(); }

  /// Between two steps: writes out what is pending, durably, and returns the number of steps taken
  /// and what the probes of this process have summed up.
  [[nodiscard]] tensor::State state();
  /// Throws Error when a probe of this session is not in the state. In a group, the state is that
  /// of this process.
  void load(const tensor::State& state);
  /// The steps and the alarms of a state alone, as where another number of processes goes on: the
  /// probes begin with their next window.
  void load_steps(const tensor::State& state);

 protected:
  /// From now on the front end shows this of every pass. Called whenever it changes.
  virtual void listen(const Needs& /*needs*/) {}

 private:
  [[nodiscard]] Progress progress(std::int64_t steps) const;
  void grant_windows();
  void report_nothing_measured();
  void report_failures(const store::Snapshot& snapshot) const;
  void observe(double terms);
  bool emit(store::Snapshot& snapshot, const Progress& progress);
  /// `steps`: taken in this process.
  void record_costs(std::int64_t steps, store::Snapshot& out);
  void report_alarms() const;

  struct Waiting {
    std::list<store::Snapshot> snapshot;  // one, in the node that goes to the record
    bool emitted = false;
  };

  std::unique_ptr<RunRecord> record_;
  SessionOptions options_;
  std::unique_ptr<ProbeSet> probes_;
  std::shared_ptr<Passes> passes_;
  std::atomic<std::int64_t> step_ = 0;  // the next one
  std::int64_t first_step_ = 0;         // of this process
  bool closed_ = false, budget_reported_ = false;
  std::deque<Waiting> waiting_;  // begun steps
  std::vector<store::Scalar> latest_;
  std::unique_ptr<AlarmsWatch> alarms_;
  std::vector<Alarm> raised_;
  double started_ = 0, probing_ = 0;
  struct {
    std::int64_t steps = 0;
    double training = 0;  // seconds
  } costs_at_;            // their last record
};

}  // namespace kappascope::session
