// SPDX-License-Identifier: Apache-2.0
#include "tensor/full_float.h"

#include <c10/util/Exception.h>

namespace kappascope::tensor {
namespace {

using at::Float32Backend;
using at::Float32MatmulPrecision;
using at::Float32Op;
using at::Float32Precision;

bool rounds(Float32Precision precision) {
  return precision == Float32Precision::TF32 || precision == Float32Precision::BF16;
}

/// What a switch says itself: nothing where it follows the one above it.
Float32Precision own(Float32Backend backend, Float32Op op) {
  auto& context = at::globalContext();
  const auto seen = context.float32Precision(backend, op);
  if (backend == Float32Backend::GENERIC) return seen;
  const auto above = op == Float32Op::ALL ? Float32Backend::GENERIC : backend;
  const auto above_own = own(above, Float32Op::ALL);
  const auto other = rounds(seen) ? Float32Precision::IEEE : Float32Precision::TF32;
  context.setFloat32Precision(above, Float32Op::ALL, other);
  const bool follows = context.float32Precision(backend, op) == other;
  context.setFloat32Precision(above, Float32Op::ALL, above_own);
  return follows ? Float32Precision::NONE : seen;
}

/// LibTorch has an older and a newer set of switches, and warns of each use of the older one, which
/// here is to leave both saying the same.
struct Unsaid final : c10::WarningHandler {
  void process(const c10::Warning& /*warning*/) override {}
};

/// What an older switch says; nothing where the newer ones say something else.
template <typename Read>
auto older(const Read& read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const c10::Error&) {
    return std::nullopt;
  }
}

}  // namespace

FullFloat::FullFloat() {
  auto& context = at::globalContext();
  Unsaid unsaid;
  const c10::WarningUtils::WarningHandlerGuard quiet(&unsaid);
  const auto matmul = older([&] { return context.float32MatmulPrecision(); });
  if (matmul && *matmul != Float32MatmulPrecision::HIGHEST) {
    matmul_ = *matmul == Float32MatmulPrecision::HIGH ? "high" : "medium";
    context.setFloat32MatmulPrecision("highest");
  }
  cudnn_ = older([&] { return context.allowTF32CuDNN(); }).value_or(false);
  if (cudnn_) context.setAllowTF32CuDNN(false);
  for (const auto backend : {Float32Backend::CUDA, Float32Backend::MKLDNN}) {
    for (const auto op : {Float32Op::MATMUL, Float32Op::CONV, Float32Op::RNN}) {
      if (!rounds(context.float32Precision(backend, op))) continue;
      switches_.push_back({backend, op, own(backend, op)});
      context.setFloat32Precision(backend, op, Float32Precision::IEEE);
    }
  }
}

FullFloat::~FullFloat() {
  auto& context = at::globalContext();
  Unsaid unsaid;
  const c10::WarningUtils::WarningHandlerGuard quiet(&unsaid);
  for (const auto& [backend, op, before] : switches_)
    context.setFloat32Precision(backend, op, before);
  if (cudnn_) context.setAllowTF32CuDNN(true);
  if (matmul_) context.setFloat32MatmulPrecision(*matmul_);
}

}  // namespace kappascope::tensor
