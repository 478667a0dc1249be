// SPDX-License-Identifier: Apache-2.0
#include "cli/outcome.h"

#include <c10/util/Exception.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "kappascope/core/error.h"
#include "kappascope/core/notice.h"
#include "kappascope/core/printable.h"

namespace kappascope::cli {
namespace {

int failed(const std::string& message, int status) noexcept {
  try {
    notice("kappascope: error: {}\n", printable(message));
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

/// LibTorch's message without its stack trace and its place in LibTorch's sources.
std::string message_of(const c10::Error& error) {
  std::string text = error.what_without_backtrace();
  const std::string allocator = "DefaultCPUAllocator: ";
  if (const auto found = text.find(allocator); found != std::string::npos)
    text.replace(0, found + allocator.size(), "not enough memory: ");
  return text;
}

}  // namespace

int status_of(const std::function<int()>& command) {
  try {
    const int status = command();
    require_printed();
    return status;
  } catch (const UsageError& error) {
    return failed(error.what(), 2);
  } catch (const c10::Error& error) {
    return failed(message_of(error), 1);
  } catch (const std::bad_alloc&) {
    return failed("not enough memory", 1);
  } catch (const std::exception& error) {
    return failed(error.what(), 1);
  }
}

}  // namespace kappascope::cli
