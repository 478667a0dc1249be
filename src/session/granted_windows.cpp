// SPDX-License-Identifier: Apache-2.0
#include "session/granted_windows.h"

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <utility>

namespace kappascope::session {

tensor::State state_of(const std::vector<Grant>& grants) {
  tensor::State out;
  out.set("probes", std::ssize(grants));
  for (std::size_t i = 0; i < grants.size(); ++i) {
    tensor::State one;
    one.set("open", std::int64_t{grants[i].open});
    one.set("next", grants[i].next);
    if (grants[i].layers) one.set("layers", lines_of(*grants[i].layers));
    out.set(fmt::format("probe {}", i), one);
  }
  return out;
}

std::vector<Grant> granted_windows(const tensor::State& state) {
  std::vector<Grant> out;
  for (std::int64_t i = 0; i < state.integer("probes"); ++i) {
    const auto one = state.inner(fmt::format("probe {}", i));
    Grant grant{.open = one.integer("open") != 0, .next = one.integer("next")};
    if (one.has("layers")) grant.layers = names_in(one.text("layers"));
    out.push_back(std::move(grant));
  }
  return out;
}

}  // namespace kappascope::session
