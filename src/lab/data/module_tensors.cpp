// SPDX-License-Identifier: Apache-2.0
#include "lab/data/module_tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <deque>
#include <iterator>

#include "core/printable.h"
#include "core/require.h"

namespace kappascope::data {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_at(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(path)) {
    if (file.path().extension() == ".safetensors") files.push_back(file.path());
  }
  require(!files.empty(), "there is no *.safetensors file in {}", path.string());
  std::sort(files.begin(), files.end());
  return files;
}

/// "3 missing: a, b, c", at most eight names.
std::string listed(const char* what, const std::vector<std::string>& names) {
  const std::size_t shown = std::min<std::size_t>(names.size(), 8);
  return fmt::format(
      "\n  {} {}: {}{}",
      names.size(),
      what,
      fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
      shown < names.size() ? ", ..." : "");
}

using Shapes = std::map<std::string, at::IntArrayRef>;

/// Throws one Error that lists everything in which the module and what there is differ.
void require_fit(const tensor::NamedTensors& tensors,
                 const Shapes& found,
                 const std::string& source,
                 bool ignore_unexpected) {
  std::vector<std::string> missing, shapes, unexpected;
  auto rest = found;
  for (const auto& [name, tensor] : tensors) {
    rest.erase(name);
    const auto there = found.find(name);
    if (there == found.end()) {
      missing.push_back(name);
    } else if (tensor.sizes() != there->second) {
      shapes.push_back(fmt::format("{} [{}] for [{}]",
                                   name,
                                   fmt::join(there->second, ", "),
                                   fmt::join(tensor.sizes(), ", ")));
    }
  }
  if (!ignore_unexpected) {
    for (const auto& [name, shape] : rest) unexpected.push_back(printable(name));
  }
  std::string wrong;
  if (!missing.empty()) wrong += listed("missing", missing);
  if (!shapes.empty()) wrong += listed("of another shape", shapes);
  if (!unexpected.empty()) wrong += listed("that the model does not have", unexpected);
  require(wrong.empty(), "{} does not fit the model:{}", source, wrong);
}

}  // namespace

tensor::NamedTensors tensors_of(const torch::nn::Module& module) {
  tensor::NamedTensors out;
  for (const auto& item : module.named_parameters()) out.emplace_back(item.key(), item.value());
  for (const auto& item : module.named_buffers()) out.emplace_back(item.key(), item.value());
  return out;
}

void load_tensors(torch::nn::Module& module,
                  const std::map<std::string, at::Tensor>& values,
                  const std::string& source) {
  const auto tensors = tensors_of(module);
  Shapes shapes;
  for (const auto& [name, value] : values) shapes.emplace(name, value.sizes());
  require_fit(tensors, shapes, source, false);
  const torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : tensors) tensor.copy_(values.at(name));
}

void save_safetensors(const torch::nn::Module& module, const fs::path& path) {
  tensor::write_safetensors(path, tensors_of(module));
}

void load_safetensors(torch::nn::Module& module, const fs::path& path, bool ignore_unexpected) {
  std::deque<tensor::SafetensorsFile> files;
  std::map<std::string, const tensor::SafetensorsFile*> where;
  Shapes shapes;
  for (const auto& part : files_at(path)) {
    const auto& file = files.emplace_back(part);
    for (const auto& [name, entry] : file.entries()) {
      require(where.emplace(name, &file).second, "'{}' is in two files of {}", name, path.string());
      shapes.emplace(name, entry.shape);
    }
  }
  const auto tensors = tensors_of(module);
  require_fit(tensors, shapes, path.string(), ignore_unexpected);
  for (const auto& [name, tensor] : tensors) where.at(name)->read_into(name, tensor);
}

}  // namespace kappascope::data
