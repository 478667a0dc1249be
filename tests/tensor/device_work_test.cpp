// SPDX-License-Identifier: Apache-2.0
#include "tensor/device_work.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/types.h>

#include <cmath>

#include "support/catch.h"
#include "tensor/cuda_devices.h"

using namespace kappascope;

TEST_CASE("a host has a speed, and is not waited for") {
  const double speed = tensor::device_speed(torch::kCPU);
  CHECK(std::isfinite(speed));
  CHECK(speed > 0);
  tensor::wait_for(torch::kCPU);
  CHECK_FALSE(tensor::peak_memory(torch::kCPU));
}

TEST_CASE("a device is waited for until its work is done", "[cuda]") {
  if (tensor::cuda_devices().count == 0) {
    WARN("not tried: no CUDA device is there");
    return;
  }
  const c10::Device device(torch::kCUDA, 0);
  CHECK(tensor::device_speed(device) > 0);
  const auto x = torch::ones({8192, 8192}, torch::TensorOptions(torch::kFloat).device(device));
  const auto stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
  auto y = x;
  for (int i = 0; i < 100; ++i) y = y.mm(x).div_(8192);  // far more than it takes to ask
  CHECK_FALSE(stream.query());
  tensor::wait_for(device);
  CHECK(stream.query());
  CHECK(y[0][0].item<double>() == Approx(1));
  const auto most = tensor::peak_memory(device);
  REQUIRE(most);
  CHECK(*most >= static_cast<std::int64_t>(x.nbytes() + y.nbytes()));
  CHECK_FALSE(tensor::peak_memory(torch::kCUDA));
}
