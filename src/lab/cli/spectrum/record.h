// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kappascope/store/run.h"
#include "lab/cli/spectrum/result.h"

namespace kappascope::cli {

/// The result as the run store keeps it, by the names that src/store/README.md lists: one snapshot,
/// at the last training step before the checkpoint. A part that was not measured has no record, so
/// that an earlier one of the same operator, block and step stays; one that was is replaced whole.
/// The eigenvalues of the batch are among it only `with_pairs`.
store::Snapshot to_snapshot(const SpectrumRequest& request,
                            const SpectrumResult& result,
                            bool with_pairs);

/// Whether the run has eigenvalues of this operator and block at this checkpoint.
bool holds_pairs(const store::RunReader& run, const SpectrumRequest& request, int64_t checkpoint);

}  // namespace kappascope::cli
