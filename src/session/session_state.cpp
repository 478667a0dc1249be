// SPDX-License-Identifier: Apache-2.0
// What a session keeps for a process that goes on in its run.
#include <string>

#include "core/require.h"
#include "kappascope/session/session.h"
#include "session/alarms/watch.h"
#include "session/passes.h"
#include "session/probe_set.h"
#include "session/run_record.h"

namespace kappascope::session {

tensor::State Session::state() {
  require(passes_->empty() && waiting_.empty(),
          "a session is saved between two steps, not within one");
  flush();
  // Never ahead of the store: training goes on from the saved state, and would leave a gap there.
  record_->make_durable();
  tensor::State out;
  out.set("step", step_.load());
  probes_->add_state(out);
  out.set("alarms", alarms_->state());
  return out;
}

void Session::load(const tensor::State& state) {
  load_steps(state);
  probes_->load(state);
  listen(needs());
}

void Session::load_steps(const tensor::State& state) {
  step_ = first_step_ = state.integer("step");
  require(first_step_ >= 0, "the saved state is of step {}", first_step_);
  probes_->close_windows();
  // A state of version 0.1 has none: the rules begin here.
  if (state.has("alarms")) alarms_->load(state.inner("alarms"));
  listen(needs());
}

}  // namespace kappascope::session
