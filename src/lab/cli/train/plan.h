// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/command.h"
#include "lab/cli/settings.h"
#include "lab/train/plan/plan.h"

namespace kappascope::cli {

/// What --plan and its companions ask for.
struct PlanRequest {
  bool asked = false;
  std::string device;
  int devices = 1;
  std::int64_t rows = 0;
};

/// Adds --plan, --plan-device, --plan-devices and --plan-rows.
void add_plan(po::options_description& options, PlanRequest& request);

/// Whether a plan is asked for. Throws UsageError where a word of it stands alone: the run would
/// begin.
bool asks_for_plan(const PlanRequest& request);

train::Plan plan_of(const Settings& settings, const PlanRequest& request);

/// A time as JSON; null where it is 0, which is not known.
nlohmann::ordered_json time_or_null(double time);

/// As a program reads it: bytes, FLOP, seconds, hours.
nlohmann::ordered_json to_json(const train::Plan& plan);

/// Prints what a run of these settings takes.
void print_plan(const Settings& settings, const PlanRequest& request, bool as_json);

}  // namespace kappascope::cli
