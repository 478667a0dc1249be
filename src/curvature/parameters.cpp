// SPDX-License-Identifier: Apache-2.0
#include <torch/nn/module.h>

#include <algorithm>

#include "core/require.h"
#include "kappascope/curvature/operators.h"

namespace kappascope::curvature {
namespace {

// Iterative glob: `star` is where the last * stood, tried again one character later on a mismatch.
bool matches(const std::string& name, const std::string& pattern) {
  std::size_t n = 0, p = 0, star = std::string::npos, mark = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++n, ++p;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = n;
    } else if (star != std::string::npos) {
      p = star + 1;
      n = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

NamedParameters select_parameters(const torch::nn::Module& model, const std::string& pattern) {
  NamedParameters selected;
  std::string names;
  for (const auto& item : model.named_parameters()) {
    names += (names.empty() ? "" : ", ") + item.key();
    const auto& tensor = item.value();
    const bool shared = std::any_of(selected.begin(), selected.end(), [&](const auto& other) {
      return other.second.is_same(tensor);
    });
    if (!shared && matches(item.key(), pattern)) selected.emplace_back(item.key(), tensor);
  }
  require(!selected.empty(), "no parameter matches '{}'; there are: {}", pattern, names);
  return selected;
}

}  // namespace kappascope::curvature
