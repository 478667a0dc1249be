// SPDX-License-Identifier: Apache-2.0
#include "lab/study/run_ends.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "core/require.h"
#include "core/spikes.h"
#include "kappascope/core/statistics.h"
#include "kappascope/store/run_reader.h"
#include "kappascope/store/schema/layer_probes.h"
#include "lab/study/metrics.h"

namespace kappascope::study {
namespace {

namespace fs = std::filesystem;
namespace id = store::id;

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kExplosion = 3;  // times the median before it
constexpr std::size_t kFirstSteps = 50;
constexpr std::int64_t kNear = 50;  // steps from a spike within which a measurement belongs to it

/// Quantities of layers of which it is told what they do as the loss spikes.
const std::map<std::string, MetricId> kAroundSpikes = {
    {id::kKappaSigma, metric::kSpikesKappa}, {id::kEffectiveRank, metric::kSpikesEffectiveRank}};

using Values = std::map<std::string, RunEnd::Value>;

bool is_run(const fs::path& dir) {
  return fs::exists(dir / "run.sqlite");
}

double value_of(const store::Scalar& scalar) {
  return store::usable(scalar) ? scalar.value : kMissing;
}

std::vector<double> numbers(const std::vector<store::StepValue>& points) {
  std::vector<double> values;
  values.reserve(points.size());
  for (const auto& point : points) values.push_back(point.scalar.value);
  return values;
}

/// The last value and the median over steps of one series, given as step and value.
void add_series(const std::string& name,
                const std::map<std::int64_t, double>& series,
                Values& out) {
  if (series.empty()) return;
  const auto last = *series.rbegin();
  std::vector<double> all;
  all.reserve(series.size());
  for (const auto& [step, value] : series) all.push_back(value);
  out[name] = {last.second, last.first};
  // One that cannot be used makes the median over steps one of other steps than its partner's.
  const bool whole = std::none_of(all.begin(), all.end(), [](double v) { return std::isnan(v); });
  out[store::median_over_steps(name)] = {whole ? median(all) : kMissing, last.first};
}

/// What a layered quantity does as the spikes begin: after over before, the median over spikes.
double change_at(const std::vector<std::int64_t>& begins,
                 const std::map<std::int64_t, double>& series) {
  std::vector<double> changes;
  for (const auto begin : begins) {
    const auto after = series.lower_bound(begin);
    if (after == series.begin() || after == series.end()) continue;
    const auto before = std::prev(after);
    if (after->first - begin <= kNear && begin - before->first <= kNear)
      changes.push_back(after->second / before->second);
  }
  return median(changes);
}

/// Returns the steps at which they begin.
std::vector<std::int64_t> add_spikes(const std::vector<store::StepValue>& losses, Values& out) {
  const auto spikes = find_spikes(numbers(losses));
  std::vector<std::int64_t> begins;
  begins.reserve(spikes.size());
  for (const auto& spike : spikes) begins.push_back(losses[spike.begin].step);
  double steps = 0, height = 0;
  for (const auto& spike : spikes) {
    steps += static_cast<double>(spike.length);
    height = std::max(height, spike.peak / spike.usual);
  }
  const auto count = static_cast<double>(spikes.size());
  const auto last = losses.back().step;
  out[metric::kSpikesCount] = {count, last};
  out[metric::kSpikesSteps] = {steps, last};
  out[metric::kSpikesShare] = {steps / static_cast<double>(losses.size()), last};
  out[metric::kSpikesLength] = {spikes.empty() ? kMissing : steps / count, last};
  out[metric::kSpikesHeight] = {spikes.empty() ? kMissing : height, last};
  out[metric::kSpikesFirst] = {spikes.empty() ? kMissing : static_cast<double>(begins.front()),
                               last};
  return begins;
}

/// How much a loss changes from step to step in the second half of a run: half the mean squared
/// difference of neighbours (von Neumann 1941), which is the variance where there is no trend.
double variance_within(const std::vector<store::StepValue>& losses) {
  double sum = 0;
  std::size_t n = 0;
  for (std::size_t i = losses.size() / 2 + 1; i < losses.size(); ++i, ++n) {
    const double change = losses[i].scalar.value - losses[i - 1].scalar.value;
    sum += change * change / 2;
  }
  return n == 0 ? kMissing : sum / static_cast<double>(n);
}

/// NaN where one of them is.
double largest_of_first(const std::vector<double>& norms) {
  double largest = 0;
  for (std::size_t i = 0; i < std::min(norms.size(), kFirstSteps); ++i) {
    if (std::isnan(norms[i])) return kMissing;
    largest = std::max(largest, norms[i]);
  }
  return largest;
}

/// How the sharpness that the optimiser sees stands to its limit: at the edge of stability it rises
/// to it and stays there (Cohen et al. 2021).
void add_edge(const store::RunReader& run, Values& out) {
  constexpr double kFifth = 0.2;
  std::map<std::int64_t, double> limits;
  for (const auto& [step, limit] : run.scalars({id::kStabilityLimit, ""}))
    limits[step] = value_of(limit);
  std::int64_t last = 0, first = -1;
  double start = kMissing, within = 0;
  std::vector<double> after;
  for (const auto& [step, seen] : run.scalars({id::kPreconditionedLambda, ""})) {
    const auto limit = limits.find(step);
    const double share = limit == limits.end() ? kMissing : value_of(seen) / limit->second;
    last = step;  // one that is not certified was measured all the same
    if (std::isnan(share)) continue;
    if (std::isnan(start)) start = share;
    if (first < 0 && share >= 1) first = step;
    if (first < 0) continue;
    after.push_back(share);
    within += std::abs(share - 1) <= kFifth ? 1 : 0;
  }
  if (std::isnan(start)) return;
  const auto count = static_cast<double>(after.size());
  out[metric::kEdgeStart] = {start, last};
  out[metric::kEdgeFirst] = {first < 0 ? kMissing : static_cast<double>(first), last};
  out[metric::kEdgeShare] = {first < 0 ? kMissing : median(after), last};
  out[metric::kEdgeWithin] = {first < 0 ? kMissing : within / count, last};
}

RunEnd read_run_end(const fs::path& dir) {
  const store::RunReader run(dir);
  RunEnd end{dir, run.fact("label"), run.fact("condition"), run.fact("seed"), run.state(), {}, {}};
  end.facts = run.facts();
  std::map<std::string, std::map<std::int64_t, std::vector<double>>> of_layers;
  std::vector<std::int64_t> spikes;
  for (const auto& key : run.series()) {
    const auto points = run.scalars(key);
    if (points.empty()) continue;
    if (!key.layer.empty()) {
      for (const auto& [step, scalar] : points)
        of_layers[key.name][step].push_back(value_of(scalar));
      continue;
    }
    std::map<std::int64_t, double> series;
    for (const auto& [step, scalar] : points) series[step] = value_of(scalar);
    add_series(key.name, series, end.values);
    if (key.name == id::kLossTrain) {
      spikes = add_spikes(points, end.values);
      end.values[metric::kLossVariance] = {variance_within(points), points.back().step};
    }
    if (key.name == id::kGradientNorm) {
      const auto share = share_above_median(numbers(points), kExplosion);
      end.values[metric::kExplosionsShare] = {share, points.back().step};
      end.values[metric::kExplosionsLargest] = {largest_of_first(numbers(points)),
                                                points.back().step};
    }
  }
  for (const auto& [name, steps] : of_layers) {
    std::map<std::int64_t, double> series;
    for (const auto& [step, values] : steps) {
      const bool whole =
          std::none_of(values.begin(), values.end(), [](double v) { return std::isnan(v); });
      series[step] = whole ? median(values) : kMissing;
    }
    add_series(name, series, end.values);
    const auto around = kAroundSpikes.find(name);
    if (around != kAroundSpikes.end() && end.values.contains(metric::kSpikesCount))
      end.values[around->second] = {change_at(spikes, series), series.rbegin()->first};
  }
  add_edge(run, end.values);
  return end;
}

}  // namespace

std::string RunEnd::fact(const std::string& key) const {
  const auto found = std::ranges::find(facts, key, &store::Facts::value_type::first);
  return found == facts.end() ? "" : found->second;
}

std::string RunEnd::data() const {
  const auto text = fact("data");
  const auto slash = text.rfind('/', text.find(" ("));
  return slash == std::string::npos ? text : text.substr(slash + 1);
}

std::vector<RunEnd> read_run_ends(const std::vector<fs::path>& paths) {
  std::vector<RunEnd> ends;
  for (const auto& path : paths) {
    if (is_run(path)) {
      ends.push_back(read_run_end(path));
      continue;
    }
    require(fs::is_directory(path), "{} is neither a run nor a folder of runs", path.string());
    std::vector<fs::path> inside;
    for (const auto& entry : fs::directory_iterator(path)) {
      // A sweep leaves its result beside its runs.
      if (is_run(entry.path()) && store::RunReader(entry.path()).fact("kind") != "study")
        inside.push_back(entry.path());
    }
    require(!inside.empty(), "{} holds no runs", path.string());
    std::ranges::sort(inside);
    for (const auto& dir : inside) ends.push_back(read_run_end(dir));
  }
  return ends;
}

}  // namespace kappascope::study
