// SPDX-License-Identifier: Apache-2.0
#include "tensor/device_work.h"

#include <torch/types.h>

#include <cmath>

#include "core/time.h"
#include "support/catch.h"
#include "tensor/cuda_devices.h"

using namespace kappascope;

TEST_CASE("a host has a speed, and is not waited for") {
  const double speed = tensor::device_speed(torch::kCPU);
  CHECK(std::isfinite(speed));
  CHECK(speed > 0);
  tensor::wait_for(torch::kCPU);
}

TEST_CASE("a device is waited for until its work is done, and is faster than a host", "[cuda]") {
  if (tensor::cuda_devices().count == 0) {
    WARN("not tried: no CUDA device is there");
    return;
  }
  const c10::Device device(torch::kCUDA, 0);
  CHECK(tensor::device_speed(device) > tensor::device_speed(torch::kCPU));
  const auto x = torch::ones({8192, 8192}, torch::TensorOptions(torch::kFloat).device(device));
  tensor::wait_for(device);
  const double begin = monotonic_seconds();
  auto y = x;
  for (int i = 0; i < 10; ++i) y = y.mm(x).div_(8192);
  const double given = monotonic_seconds();
  tensor::wait_for(device);
  const double done = monotonic_seconds();
  const double value = y[0][0].item<double>();
  const double read = monotonic_seconds();
  CHECK(value == Approx(1));
  CHECK(done - given > 10 * (read - done));  // nothing was left to wait for
  CHECK(done - begin > 0);
}
