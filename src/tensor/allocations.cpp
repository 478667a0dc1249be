// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/allocations.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace kappascope::tensor {

struct Allocations::Counter final : c10::MemoryReportingInfoBase {
  void reportMemoryUsage(void* /*place*/,
                         std::int64_t bytes,
                         std::size_t /*allocated*/,
                         std::size_t /*reserved*/,
                         c10::Device /*device*/) override {
    const auto now = live += bytes;
    auto most = peak.load();
    while (now > most && !peak.compare_exchange_weak(most, now)) {
    }
  }
  [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }

  std::atomic<std::int64_t> live{0}, peak{0};
};

struct Allocations::Guard {
  explicit Guard(std::shared_ptr<Counter> counter)
      : guard(c10::DebugInfoKind::PROFILER_STATE, std::move(counter)) {}
  c10::DebugInfoGuard guard;
};

Allocations::Allocations()
    : counter_(std::make_shared<Counter>()), guard_(std::make_unique<Guard>(counter_)) {}

Allocations::~Allocations() = default;

std::int64_t Allocations::live() const {
  return counter_->live;
}

std::int64_t Allocations::peak() const {
  return counter_->peak;
}

void Allocations::forget_peak() {
  counter_->peak = counter_->live.load();
}

}  // namespace kappascope::tensor
