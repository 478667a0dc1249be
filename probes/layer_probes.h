// SPDX-License-Identifier: Apache-2.0
// Makes what include/kappascope/store/schema/layer_probes.h lists.
#pragma once

#include <memory>
#include <string_view>

#include "kappascope/probes/standard.h"
#include "kappascope/session/probe.h"

namespace kappascope::probes {

/// The probe of that name. Throws UsageError where there is none.
std::unique_ptr<session::Probe> make_layer_probe(std::string_view name,
                                                 const ProbeOptions& options = {});

/// The probes by the names of their rows in the schema, each once: `X(NAME)` stands for
/// make_NAME(), which the probe's own file defines.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define KAPPASCOPE_LAYER_PROBES(X) \
  X(attention)                     \
  X(features)                      \
  X(gates)                         \
  X(gradient_variance)             \
  X(intercept)                     \
  X(learning)                      \
  X(magnitudes)                    \
  X(routers)                       \
  X(weights)

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define KAPPASCOPE_DECLARE(NAME) \
  std::unique_ptr<session::Probe> make_##NAME(const ProbeOptions& options);
KAPPASCOPE_LAYER_PROBES(KAPPASCOPE_DECLARE)
#undef KAPPASCOPE_DECLARE

}  // namespace kappascope::probes
