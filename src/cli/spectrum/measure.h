// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/spectrum/result.h"
#include "kappascope/train/task.h"

namespace kappascope::cli {

/// Everything that was asked for, at the model's weights of this moment, with progress on stderr.
/// The checkpoint and the learning rate are left to the caller.
SpectrumResult measure_spectrum(const SpectrumRequest& request, const train::Task& task);

}  // namespace kappascope::cli
