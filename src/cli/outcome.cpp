// SPDX-License-Identifier: Apache-2.0
#include "cli/outcome.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "core/notice.h"
#include "kappascope/core/error.h"

namespace kappascope::cli {
namespace {

int failed(const std::string& message, int status) noexcept {
  try {
    notice("kappascope: error: {}\n", message);
  } catch (...) {
    std::fputs("kappascope: error: not enough memory\n", stderr);
  }
  return status;
}

/// What was printed is in a buffer until here, and a result that nobody received is none.
void require_printed() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw Error(std::string("cannot write to the standard output: ") + std::strerror(errno));
}

}  // namespace

int status_of(const std::function<int()>& command, const MessageOf& message_of) {
  try {
    const int status = command();
    require_printed();
    return status;
  } catch (const UsageError& error) {
    return failed(error.what(), 2);
  } catch (const std::bad_alloc&) {
    return failed("not enough memory", 1);
  } catch (const std::exception& error) {
    return failed(message_of ? message_of(error) : error.what(), 1);
  }
}

}  // namespace kappascope::cli
