// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "kappascope/tensor/state.h"

namespace kappascope::tensor {

/// Writes a state as a safetensors file: its tensors, and its integers, numbers and texts among the
/// file's metadata, with a CRC-32 over all of it. The file is there whole or not at all.
void write_state(const std::filesystem::path& file, const State& state);

/// Reads it back. Nothing in the file is run, and nothing is read before the checksum has been
/// found right. Its tensors lie in the mapped file, so that a model's state is not held twice.
/// Throws Error with the path and what is wrong.
State read_state(const std::filesystem::path& file);

}  // namespace kappascope::tensor
