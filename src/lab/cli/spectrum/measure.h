// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lab/cli/spectrum/result.h"
#include "lab/train/checkpoint/checkpoint.h"
#include "lab/train/task.h"

namespace kappascope::cli {

/// Everything that was asked for at the weights of a checkpoint, which are loaded; `rate`: the
/// learning rate of its last step. With progress on stderr.
SpectrumResult measure_spectrum(const SpectrumRequest& request,
                                const train::Task& task,
                                const train::Checkpoint& checkpoint,
                                double rate);

}  // namespace kappascope::cli
