// SPDX-License-Identifier: Apache-2.0
#include "tensor/safetensors/state_file.h"

#include <string>

#include "core/require.h"
#include "tensor/safetensors/safetensors.h"

namespace kappascope::tensor {
namespace {

constexpr const char *kFormat = "format", *kState = "kappascope-state-1";
const std::string kEntry = "state/";  // before the name of every text

}  // namespace

void write_state(const std::filesystem::path& file, const State& state) {
  Metadata metadata = {{kFormat, kState}};
  for (const auto& [name, text] : state.texts()) metadata.emplace(kEntry + name, text);
  write_safetensors(file, {state.tensors().begin(), state.tensors().end()}, metadata);
}

State read_state(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  file.require_whole();
  const auto format = file.metadata().find(kFormat);
  require(format != file.metadata().end() && format->second == kState,
          "{} is a safetensors file, but holds no saved state",
          path.string());
  State state;
  for (const auto& [name, text] : file.metadata()) {
    if (name.starts_with(kEntry)) state.set(name.substr(kEntry.size()), text);
  }
  for (const auto& [name, entry] : file.entries()) state.set(name, file.mapped(name));
  return state;
}

}  // namespace kappascope::tensor
