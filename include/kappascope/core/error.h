// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

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

}  // namespace kappascope
