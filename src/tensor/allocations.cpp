// SPDX-License-Identifier: Apache-2.0
#include "tensor/allocations.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace kappascope::tensor {

struct Allocations::Counter final : c10::MemoryReportingInfoBase {
  /// Any thread may add to it.
  struct Count {
    void add(std::int64_t bytes) {
      const auto now = live += bytes;
      auto most = peak.load();
      while (now > most && !peak.compare_exchange_weak(most, now)) {
      }
    }
    void forget_peak() { peak = live.load(); }

    std::atomic<std::int64_t> live{0}, peak{0};
  };

  void reportMemoryUsage(void* /*place*/,
                         std::int64_t bytes,
                         std::size_t /*allocated*/,
                         std::size_t /*reserved*/,
                         c10::Device device) override {
    all.add(bytes);
    (device.is_cpu() ? host : devices).add(bytes);
  }
  [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }

  Count all, host, devices;
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
  return counter_->all.live;
}

std::int64_t Allocations::peak() const {
  return counter_->all.peak;
}

std::int64_t Allocations::peak_on_host() const {
  return counter_->host.peak;
}

std::int64_t Allocations::peak_on_devices() const {
  return counter_->devices.peak;
}

void Allocations::forget_peak() {
  for (auto* count : {&counter_->all, &counter_->host, &counter_->devices}) count->forget_peak();
}

}  // namespace kappascope::tensor
