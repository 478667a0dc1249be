// SPDX-License-Identifier: Apache-2.0
#include "tensor/parallel.h"

#include <ATen/TensorIterator.h>
#include <torch/types.h>

#include <atomic>

namespace kappascope::tensor {

void parallel_tasks(std::int64_t count, const std::function<void(std::int64_t)>& task) {
  auto numbers = torch::arange(count);
  auto each = at::TensorIterator::nullary_op(numbers);
  // What the barriers of LibTorch's OpenMP order already, said so that ThreadSanitizer sees it; not
  // on this stack, which another thread may look at only behind it.
  static std::atomic<std::int64_t> order{0};
  order.fetch_add(1, std::memory_order_release);
  each.for_each(
      [&](char** data, const int64_t* strides, int64_t n, int64_t rows) {
        order.load(std::memory_order_acquire);
        for (int64_t i = 0; i < n * rows; ++i)
          task(
              *reinterpret_cast<const int64_t*>(data[0] + i % n * strides[0] + i / n * strides[1]));
        order.fetch_add(1, std::memory_order_release);
      },
      /*grain_size=*/1);
  order.load(std::memory_order_acquire);
}

}  // namespace kappascope::tensor
