// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

namespace kappascope::tensor {

/// Counts the bytes of tensors that LibTorch's allocators hand out to this thread, and to backward
/// passes that it starts, for as long as it lives. Deterministic: what the process holds beyond
/// that (caches, code, other libraries) is not in it. Not nested, and not beside LibTorch's
/// profiler.
class Allocations {
 public:
  Allocations();
  ~Allocations();
  Allocations(const Allocations&) = delete;
  Allocations& operator=(const Allocations&) = delete;

  /// Taken and not given back.
  [[nodiscard]] std::int64_t live() const;
  /// The most of that, since the start or the last forget_peak().
  [[nodiscard]] std::int64_t peak() const;
  /// The most on the host alone, and on the other devices alone: at different moments, perhaps.
  [[nodiscard]] std::int64_t peak_on_host() const;
  [[nodiscard]] std::int64_t peak_on_devices() const;
  void forget_peak();

 private:
  struct Counter;
  struct Guard;
  std::shared_ptr<Counter> counter_;
  std::unique_ptr<Guard> guard_;
};

}  // namespace kappascope::tensor
