// SPDX-License-Identifier: Apache-2.0
#include "probes/layer_probes.h"

#include <algorithm>
#include <array>

#include "core/require.h"
#include "kappascope/store/schema/layer_probes.h"
#include "probes/attention.h"
#include "probes/feature_moments.h"
#include "probes/gradient_variance.h"
#include "probes/intercept.h"
#include "probes/learning_time.h"
#include "probes/magnitudes.h"
#include "probes/weights.h"

namespace kappascope::probes {
namespace {

struct Maker {
  std::string_view name;
  std::unique_ptr<session::Probe> (*make)(const ProbeOptions& options);
};

template <typename Probe>
std::unique_ptr<session::Probe> make(const ProbeOptions& /*options*/) {
  return std::make_unique<Probe>();
}

template <>
std::unique_ptr<session::Probe> make<FeatureMoments>(const ProbeOptions& options) {
  linalg::MomentOptions moments;
  moments.sample_rows = options.sample_rows;
  return std::make_unique<FeatureMoments>(moments, options.outputs);
}

constexpr std::array<Maker, 7> kMakers = {{{"learning", make<LearningTime>},
                                           {"magnitudes", make<Magnitudes>},
                                           {"weights", make<Weights>},
                                           {"attention", make<Attention>},
                                           {"features", make<FeatureMoments>},
                                           {"intercept", make<Intercept>},
                                           {"gradient_variance", make<GradientVarianceProbe>}}};

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
