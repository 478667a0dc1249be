// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace torch::nn {
class Module;
}

namespace kappascope::data {

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
