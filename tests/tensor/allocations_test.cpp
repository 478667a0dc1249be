// SPDX-License-Identifier: Apache-2.0
#include "tensor/allocations.h"

#include <c10/core/Allocator.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include <memory>

#include "support/catch.h"

using namespace kappascope;

TEST_CASE("bytes of tensors are counted as they come and go, backward passes included") {
  constexpr int64_t kBytes = 1 << 20;
  const auto before = torch::ones({kBytes / 4}).requires_grad_();
  const tensor::Allocations counted;
  CHECK(counted.live() == 0);
  {
    const auto a = torch::zeros({kBytes}, torch::kByte);
    CHECK(counted.live() == kBytes);
    const auto view = a.view({2, -1});
    CHECK(counted.live() == kBytes);
    const auto b = torch::zeros({kBytes}, torch::kByte);
    CHECK(counted.live() == 2 * kBytes);
  }
  CHECK(counted.live() == 0);
  CHECK(counted.peak() == 2 * kBytes);
  // exp keeps its result, and the gradient stays behind.
  auto y = before.exp();
  CHECK(counted.live() == kBytes);
  y.sum().backward();
  y.reset();
  CHECK(counted.live() == kBytes);
  CHECK(before.grad().defined());
}

TEST_CASE("the host and the other devices have a peak of their own") {
  const tensor::Allocations counted;
  int place = 0;
  // As the allocator of a device tells of its tensors.
  c10::reportMemoryUsageToProfiler(&place, 300, 300, 300, c10::Device(torch::kCUDA, 0));
  c10::reportMemoryUsageToProfiler(&place, -300, 0, 0, c10::Device(torch::kCUDA, 0));
  const auto a = torch::zeros({100}, torch::kByte);
  CHECK(counted.peak_on_host() == 100);
  CHECK(counted.peak_on_devices() == 300);
  CHECK(counted.peak() == 300);
}

TEST_CASE("the peak begins anew where it is forgotten, and nothing is counted afterwards") {
  std::unique_ptr<tensor::Allocations> counted = std::make_unique<tensor::Allocations>();
  torch::zeros({1 << 20}, torch::kByte);
  CHECK(counted->peak() == 1 << 20);
  counted->forget_peak();
  CHECK(counted->peak() == 0);
  counted.reset();
  const tensor::Allocations next;
  CHECK(next.live() == 0);
}
