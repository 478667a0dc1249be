// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/spectrum/result.h"
#include "kappascope/store/record.h"

namespace kappascope::cli {

/// The result as the run store keeps it, by the names that src/store/README.md lists: one snapshot,
/// at the last training step before the checkpoint. A part that was not measured has no record, so
/// that an earlier one of the same operator, block and step stays; one that was is replaced whole.
store::Snapshot to_snapshot(const SpectrumRequest& request, const SpectrumResult& result);

}  // namespace kappascope::cli
