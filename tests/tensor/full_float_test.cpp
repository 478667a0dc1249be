// SPDX-License-Identifier: Apache-2.0
#include "tensor/full_float.h"

#include <vector>

#include "support/catch.h"

using namespace kappascope;
using at::Float32Backend;
using at::Float32Op;
using at::Float32Precision;

namespace {

constexpr Float32Backend kBackends[] = {Float32Backend::CUDA, Float32Backend::MKLDNN};
constexpr Float32Op kOps[] = {Float32Op::MATMUL, Float32Op::CONV, Float32Op::RNN};

/// As numbers, which the test framework can print.
std::vector<int> switches() {
  std::vector<int> all;
  for (const auto backend : kBackends)
    for (const auto op : kOps)
      all.push_back(static_cast<int>(at::globalContext().float32Precision(backend, op)));
  return all;
}

bool any_rounds() {
  for (const int precision : switches())
    if (precision == static_cast<int>(Float32Precision::TF32) ||
        precision == static_cast<int>(Float32Precision::BF16))
      return true;
  return false;
}

/// As a process begins.
void reset() {
  auto& context = at::globalContext();
  for (const auto backend : {Float32Backend::GENERIC, Float32Backend::CUDA, Float32Backend::MKLDNN})
    context.setFloat32Precision(backend, Float32Op::ALL, Float32Precision::NONE);
  for (const auto op : kOps)
    context.setFloat32Precision(Float32Backend::MKLDNN, op, Float32Precision::NONE);
  context.setFloat32MatmulPrecision("highest");
  context.setAllowTF32CuDNN(true);
}

}  // namespace

TEST_CASE("while full float lives nothing rounds, and afterwards the switches are as they were") {
  auto& context = at::globalContext();
  for (const char* matmul : {"highest", "high", "medium"}) {
    for (const bool cudnn : {false, true}) {
      CAPTURE(matmul, cudnn);
      reset();
      context.setFloat32MatmulPrecision(matmul);
      context.setAllowTF32CuDNN(cudnn);
      const auto before = switches();
      const auto older = context.float32MatmulPrecision();
      {
        const tensor::FullFloat full;
        CHECK_FALSE(any_rounds());
        const tensor::FullFloat inner;
        CHECK_FALSE(any_rounds());
        // Whoever asks by the older switches gets an answer, too.
        CHECK(context.float32MatmulPrecision() == at::Float32MatmulPrecision::HIGHEST);
        CHECK_FALSE(context.allowTF32CuDNN());
      }
      CHECK(switches() == before);
      CHECK(context.float32MatmulPrecision() == older);
      CHECK(context.allowTF32CuDNN() == cudnn);
    }
  }
  // The newer switches: of one operation, of a backend, of all.
  for (const auto backend :
       {Float32Backend::GENERIC, Float32Backend::CUDA, Float32Backend::MKLDNN}) {
    for (const auto op : {Float32Op::ALL, Float32Op::MATMUL, Float32Op::CONV, Float32Op::RNN}) {
      if (backend == Float32Backend::GENERIC && op != Float32Op::ALL) continue;
      for (const auto precision :
           {Float32Precision::IEEE, Float32Precision::TF32, Float32Precision::BF16}) {
        if (backend != Float32Backend::MKLDNN && precision == Float32Precision::BF16) continue;
        CAPTURE(static_cast<int>(backend), static_cast<int>(op), static_cast<int>(precision));
        reset();
        context.setFloat32Precision(backend, op, precision);
        const auto before = switches();
        {
          const tensor::FullFloat full;
          CHECK_FALSE(any_rounds());
        }
        CHECK(switches() == before);
        // What follows a switch above it still does.
        context.setFloat32Precision(backend, op, Float32Precision::IEEE);
        const auto followed = switches();
        reset();
        context.setFloat32Precision(backend, op, Float32Precision::IEEE);
        CHECK(switches() == followed);
      }
    }
  }
  reset();
}
