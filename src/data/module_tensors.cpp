// SPDX-License-Identifier: Apache-2.0
#include "kappascope/data/module_tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <algorithm>
#include <deque>
#include <iterator>

#include "kappascope/core/require.h"
#include "kappascope/data/safetensors.h"

namespace kappascope::data {
namespace {

namespace fs = std::filesystem;

std::vector<std::pair<std::string, at::Tensor>> tensors_of(const torch::nn::Module& module) {
  std::vector<std::pair<std::string, at::Tensor>> out;
  for (const auto& item : module.named_parameters()) out.emplace_back(item.key(), item.value());
  for (const auto& item : module.named_buffers()) out.emplace_back(item.key(), item.value());
  return out;
}

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

}  // namespace

void save_safetensors(const torch::nn::Module& module, const fs::path& path) {
  write_safetensors(path, tensors_of(module));
}

void load_safetensors(torch::nn::Module& module, const fs::path& path, bool ignore_unexpected) {
  std::deque<SafetensorsFile> files;
  std::map<std::string, const SafetensorsFile*> where;
  for (const auto& one : files_at(path)) {
    const auto& file = files.emplace_back(one);
    for (const auto& [name, entry] : file.entries()) {
      require(where.emplace(name, &file).second, "'{}' is in two files of {}", name, path.string());
    }
  }
  const auto tensors = tensors_of(module);
  std::vector<std::string> missing, shapes, unexpected;
  auto rest = where;
  for (const auto& [name, tensor] : tensors) {
    rest.erase(name);
    const auto found = where.find(name);
    if (found == where.end()) {
      missing.push_back(name);
      continue;
    }
    const auto& shape = found->second->entries().at(name).shape;
    if (tensor.sizes() != at::IntArrayRef(shape)) {
      shapes.push_back(fmt::format(
          "{} [{}] for [{}]", name, fmt::join(shape, ", "), fmt::join(tensor.sizes(), ", ")));
    }
  }
  if (!ignore_unexpected) {
    for (const auto& [name, file] : rest) unexpected.push_back(name);
  }
  std::string wrong;
  if (!missing.empty()) wrong += listed("missing", missing);
  if (!shapes.empty()) wrong += listed("of another shape", shapes);
  if (!unexpected.empty()) wrong += listed("that the model does not have", unexpected);
  require(wrong.empty(), "{} does not fit the model:{}", path.string(), wrong);
  for (const auto& [name, tensor] : tensors) where.at(name)->read_into(name, tensor);
}

}  // namespace kappascope::data
