// SPDX-License-Identifier: Apache-2.0
#include "lab/data/read_ahead.h"

#include <torch/types.h>

#include <utility>

namespace kappascope::data {

void ReadAhead::begin(const at::Tensor& indices) {
  constexpr std::size_t kSets = 2;
  Set set;
  const auto wanted = indices.contiguous();
  for (int64_t i = 0; i < wanted.numel(); ++i) set.places.emplace(wanted.data_ptr<int64_t>()[i], i);
  set.rows = std::async(std::launch::async, [read = read_, wanted] { return read(wanted); });
  if (sets_.size() == kSets) sets_.pop_front();
  sets_.push_back(std::move(set));
}

std::optional<at::Tensor> ReadAhead::find(const at::Tensor& indices) const {
  const auto wanted = indices.contiguous();
  for (const auto& set : sets_) {
    auto places = torch::empty_like(wanted);
    bool all = true;
    for (int64_t i = 0; all && i < wanted.numel(); ++i) {
      const auto place = set.places.find(wanted.data_ptr<int64_t>()[i]);
      all = place != set.places.end();
      if (all) places.data_ptr<int64_t>()[i] = place->second;
    }
    if (all) return set.rows.get().index_select(0, places);
  }
  return std::nullopt;
}

}  // namespace kappascope::data
