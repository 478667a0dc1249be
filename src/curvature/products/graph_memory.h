// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

namespace kappascope::curvature {

/// Counts the memory that LibTorch's allocators give out on this thread, and in work that it starts
/// elsewhere, while an object of this type lives. It stands where a profiler's state would, so one
/// that begins in the meantime sees no memory; one that is there already is left alone.
class GraphMemory {
 public:
  GraphMemory();
  ~GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;

  /// Bytes that were allocated since, and not freed: the kept graph's, if that is all that stays.
  /// The largest number where a profiler was there before: nothing can be counted beside it.
  [[nodiscard]] int64_t held() const;

 private:
  class Ledger;
  class Guard;
  std::shared_ptr<Ledger> ledger_;
  std::unique_ptr<Guard> guard_;
};

}  // namespace kappascope::curvature
