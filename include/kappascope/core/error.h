// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace kappascope {

/// The base of everything Kappascope throws: the caller's mistake or the environment's (a file, a
/// device, a full disk). The message says what was wrong, where, and what to do. Numerical outcomes
/// are never thrown; they are a status in the result.
class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An invalid command line or configuration: the program exits with 2.
class UsageError : public Error {
  using Error::Error;
};

/// Throws Error when `condition` is false; the pieces are formatted only then:
///   require(rows == cols, "covariance must be square, got ", rows, " x ", cols);
template <typename... Pieces>
void require(bool condition, const Pieces&... pieces) {
  if (condition) return;
  std::ostringstream message;
  (message << ... << pieces);
  throw Error(message.str());
}

}  // namespace kappascope
