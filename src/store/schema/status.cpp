// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/schema/status.h"

#include <fmt/format.h>

#include <ostream>

#include "kappascope/core/error.h"

namespace kappascope::store {

Status Status::parse(std::string_view text) {
  const auto found = find(text);
  if (!found) throw Error(fmt::format("'{}' is no status; src/store/README.md lists them", text));
  return *found;
}

std::ostream& operator<<(std::ostream& out, Status status) {
  return out << status.text();
}

}  // namespace kappascope::store
