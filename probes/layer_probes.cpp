// SPDX-License-Identifier: Apache-2.0
#include "probes/layer_probes.h"

#include <algorithm>
#include <array>

#include "core/require.h"
#include "kappascope/store/schema/layer_probes.h"

namespace kappascope::probes {
namespace {

struct Maker {
  std::string_view name;
  std::unique_ptr<session::Probe> (*make)(const ProbeOptions& options);
};

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define KAPPASCOPE_ROW(NAME) Maker{#NAME, make_##NAME},
constexpr auto kMakers = std::to_array<Maker>({KAPPASCOPE_LAYER_PROBES(KAPPASCOPE_ROW)});
#undef KAPPASCOPE_ROW

}  // namespace

std::unique_ptr<session::Probe> make_layer_probe(std::string_view name,
                                                 const ProbeOptions& options) {
  const auto& row = store::layer_probe(name);
  const auto found = std::ranges::find(kMakers, row.name, &Maker::name);
  require(found != kMakers.end() && kMakers.size() == store::layer_probes().size(),
          "probes/layer_probes.cpp does not make the probe {}, or makes one that is not listed",
          row.name);
  return found->make(options);
}

}  // namespace kappascope::probes
