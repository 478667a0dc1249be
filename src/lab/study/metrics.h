// SPDX-License-Identifier: Apache-2.0
// The quantities that arms are compared by: series, their medians over steps, and what is derived
// from them, each derived one spelt once.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kappascope/store/schema/series.h"

namespace kappascope::study {

/// The name of a derived metric; converts to text as that of a series does.
using MetricId = store::SeriesId;

namespace metric {

inline constexpr MetricId kLossVariance{"loss/train@variance"};
inline constexpr MetricId kSpikesCount{"spikes/count"};
inline constexpr MetricId kSpikesFirst{"spikes/first"};
inline constexpr MetricId kSpikesSteps{"spikes/steps"};
inline constexpr MetricId kSpikesShare{"spikes/share"};
inline constexpr MetricId kSpikesLength{"spikes/length"};
inline constexpr MetricId kSpikesHeight{"spikes/height"};
inline constexpr MetricId kSpikesKappa{"spikes/kappa"};
inline constexpr MetricId kSpikesEffectiveRank{"spikes/effective_rank"};
inline constexpr MetricId kExplosionsShare{"explosions/share"};
inline constexpr MetricId kExplosionsLargest{"explosions/largest"};
inline constexpr MetricId kEdgeStart{"edge/start"};
inline constexpr MetricId kEdgeFirst{"edge/first"};
inline constexpr MetricId kEdgeShare{"edge/share"};
inline constexpr MetricId kEdgeWithin{"edge/within"};

}  // namespace metric

struct DerivedMetric {
  MetricId id;
  std::string_view meaning;
  std::string_view basis;  ///< the series that it is computed from
};

/// Every derived metric.
std::span<const DerivedMetric> derived_metrics();
/// nullptr: no derived metric has this name.
const DerivedMetric* find_derived_metric(std::string_view name);

/// The series that a metric is computed from: of "loss/test@median" it is "loss/test".
std::string basis_of(const std::string& metric);

/// Whether a run may hold a quantity of this name in RunEnd::values: a series of the schema or of a
/// user, its median over steps, or one that is derived. It may still not have recorded it.
bool is_metric(const std::string& name);
/// Those that there are, families of series by their pattern; for messages.
std::vector<std::string> metric_names();

}  // namespace kappascope::study
