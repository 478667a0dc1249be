// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tensor/safetensors/safetensors.h"

namespace torch::nn {
class Module;
}

namespace kappascope::data {

/// Every parameter and buffer under its dotted name; they share the module's memory.
tensor::NamedTensors tensors_of(const torch::nn::Module& module);

/// Fills every parameter and buffer from `values`, which must be of the same names and shapes:
/// Error with all that differs, before anything is changed. `source` names their origin in the
/// message.
void load_tensors(torch::nn::Module& module,
                  const std::map<std::string, at::Tensor>& values,
                  const std::string& source);

/// Writes every parameter and buffer of `module` under its dotted name.
void save_safetensors(const torch::nn::Module& module, const std::filesystem::path& path);

/// Fills every parameter and buffer of `module` by its dotted name, in the module's own type, from
/// one file, or from all *.safetensors of a folder (large models come in several). Throws one Error
/// that lists every name that is missing, unexpected or of another shape, before anything is
/// changed; `ignore_unexpected` lets names pass that the module does not have.
void load_safetensors(torch::nn::Module& module,
                      const std::filesystem::path& path,
                      bool ignore_unexpected = false);

}  // namespace kappascope::data
