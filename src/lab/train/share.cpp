// SPDX-License-Identifier: Apache-2.0
#include "lab/train/share.h"

#include <torch/types.h>

#include <cstddef>

namespace kappascope::train {

Share::Share(const at::Tensor& rows, const tensor::Group* group) : rows_(rows) {
  if (group == nullptr) return;
  rows_ = rows.tensor_split(group->size()).at(static_cast<std::size_t>(group->rank()));
  of_all_ = static_cast<double>(rows_.numel()) / static_cast<double>(rows.numel());
}

}  // namespace kappascope::train
