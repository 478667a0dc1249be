// SPDX-License-Identifier: Apache-2.0
#include "probes/layer_probes.h"

#include <array>

#include "probes/feature_moments.h"
#include "probes/gradient_variance.h"
#include "probes/intercept.h"
#include "probes/learning_time.h"

namespace kappascope::probes {
namespace {

template <typename Probe>
std::unique_ptr<session::Probe> make(const ProbeOptions& /*options*/) {
  return std::make_unique<Probe>();
}

template <>
std::unique_ptr<session::Probe> make<FeatureMoments>(const ProbeOptions& options) {
  linalg::MomentOptions moments;
  moments.sample_rows = options.sample_rows;
  return std::make_unique<FeatureMoments>(moments);
}

}  // namespace

std::span<const LayerProbe> layer_probes() {
  // Learning times are what a report answers first, and what wide layers resolve.
  constexpr double kOfLearning = 0.75;
  static constexpr std::array<LayerProbe, 4> kProbes = {
      {{"learning",
        "how many steps of gradient descent a layer needs to learn",
        &ProbeOptions::learning,
        kOfLearning,
        make<LearningTime>},
       {"features",
        "feature moments and condition numbers",
        &ProbeOptions::features,
        0,
        make<FeatureMoments>},
       {"intercept",
        "how far the post-gating bias cancels the mean",
        &ProbeOptions::intercept,
        0,
        make<Intercept>},
       {"gradient_variance",
        "the gradient variance, beside what Lemma 2 gives",
        &ProbeOptions::gradient_variance,
        0,
        make<GradientVarianceProbe>}}};
  return kProbes;
}

}  // namespace kappascope::probes
