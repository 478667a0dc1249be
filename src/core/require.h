// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <utility>

#include "kappascope/core/error.h"

namespace kappascope {

/// Throws Error when `condition` is false; the message is formatted only then:
///   require(rows == cols, "covariance must be square, got {} x {}", rows, cols);
template <typename... Values>
void require(bool condition, fmt::format_string<Values...> message, Values&&... values) {
  if (!condition) throw Error(fmt::format(message, std::forward<Values>(values)...));
}

}  // namespace kappascope
