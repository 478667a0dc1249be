// SPDX-License-Identifier: Apache-2.0
// The probes of a layer, each in one row: what offers, schedules or names them reads it here.
#pragma once

#include <memory>
#include <span>

#include "kappascope/probes/standard.h"
#include "kappascope/session/probe.h"

namespace kappascope::probes {

struct LayerProbe {
  const char* name;        ///< as Probe::name() has it, and attach(probes=) in Python
  const char* help;        ///< of the trainer's setting probes.NAME: what it measures
  bool ProbeOptions::*on;  ///< whether it is asked for
  /// Of the time of all layer probes; 0: of what the others leave, by presumed_cost().
  double budget_part;
  std::unique_ptr<session::Probe> (*make)(const ProbeOptions& options);
};

/// In the order in which they run and are listed.
std::span<const LayerProbe> layer_probes();

}  // namespace kappascope::probes
