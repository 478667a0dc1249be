// SPDX-License-Identifier: Apache-2.0
#include "lab/cli/torch_errors.h"

#include <c10/util/Exception.h>

namespace kappascope::cli {

std::string torch_message(const std::exception& error) {
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  if (torch == nullptr) return error.what();
  std::string text = torch->what_without_backtrace();
  const std::string allocator = "DefaultCPUAllocator: ";
  if (const auto found = text.find(allocator); found != std::string::npos)
    text.replace(0, found + allocator.size(), "not enough memory: ");
  return text;
}

}  // namespace kappascope::cli
