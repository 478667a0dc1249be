// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <deque>
#include <functional>
#include <future>
#include <optional>
#include <unordered_map>

namespace kappascope::data {

/// Rows that a thread of its own reads before they are asked for.
class ReadAhead {
 public:
  /// indices: [k] int64 -> [k, ...].
  using Read = std::function<at::Tensor(const at::Tensor& indices)>;

  explicit ReadAhead(Read read) : read_(std::move(read)) {}

  /// Begins to read these rows. Two such sets are held: the one in use and the next.
  void begin(const at::Tensor& indices);
  /// Those rows, where one of the sets has them all; waits for it, and throws what ended its
  /// reading. Otherwise nothing.
  [[nodiscard]] std::optional<at::Tensor> find(const at::Tensor& indices) const;

 private:
  struct Set {
    std::unordered_map<int64_t, int64_t> places;  ///< of an index in `rows`
    std::shared_future<at::Tensor> rows;
  };

  Read read_;
  std::deque<Set> sets_;
};

}  // namespace kappascope::data
