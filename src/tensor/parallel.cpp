// SPDX-License-Identifier: Apache-2.0
#include "tensor/parallel.h"

#include <ATen/TensorIterator.h>
#include <torch/types.h>

namespace kappascope::tensor {

void parallel_tasks(std::int64_t count, const std::function<void(std::int64_t)>& task) {
  auto numbers = torch::arange(count);
  auto each = at::TensorIterator::nullary_op(numbers);
  each.for_each(
      [&task](char** data, const int64_t* strides, int64_t n, int64_t rows) {
        for (int64_t i = 0; i < n * rows; ++i)
          task(
              *reinterpret_cast<const int64_t*>(data[0] + i % n * strides[0] + i / n * strides[1]));
      },
      /*grain_size=*/1);
}

}  // namespace kappascope::tensor
