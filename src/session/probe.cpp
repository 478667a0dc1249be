// SPDX-License-Identifier: Apache-2.0
#include "kappascope/session/probe.h"

namespace kappascope::session {

void Probe::emit_with(tensor::Group& group, double seconds, store::Snapshot& out) {
  store::Snapshot dropped;
  emit_within(seconds, group.leads() ? out : dropped);
}

}  // namespace kappascope::session
