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

// What each measures, and at what cost, stands above its class in the file of its name.
std::unique_ptr<session::Probe> make_attention(const ProbeOptions& options);
std::unique_ptr<session::Probe> make_feature_moments(const ProbeOptions& options);
std::unique_ptr<session::Probe> make_gradient_variance(const ProbeOptions& options);
std::unique_ptr<session::Probe> make_intercept(const ProbeOptions& options);
std::unique_ptr<session::Probe> make_learning_time(const ProbeOptions& options);
std::unique_ptr<session::Probe> make_magnitudes(const ProbeOptions& options);
std::unique_ptr<session::Probe> make_weights(const ProbeOptions& options);

}  // namespace kappascope::probes
