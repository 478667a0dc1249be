// SPDX-License-Identifier: Apache-2.0
// The figures of the spectra that were stored at a checkpoint: eigenvalues with their bars, density
// with outliers.
#include "reports/runs/spectra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/figures/builders.h"
#include "reports/number_format.h"

namespace kappascope::reports {
namespace {

constexpr const char* kGrown = "from a batch that grew until the interval was narrow";

void tick_ranks(Axis& x, const SpectrumGroup& group, std::map<std::string, std::size_t>& at) {
  if (group.spectra.empty()) return;
  const auto longest = std::ranges::max_element(
      group.spectra, {}, [](const auto& spectrum) { return spectrum.values.size(); });
  const auto add = [&](const std::string& name) {
    if (!at.emplace(name, x.ticks.size()).second) return;
    x.ticks.push_back({static_cast<double>(x.ticks.size()), name});
  };
  for (std::size_t i = 0; i < longest->values.size(); ++i) add(longest->rank(i));
  for (const auto& spectrum : group.spectra) {
    for (std::size_t i = 0; i < spectrum.values.size(); ++i) add(spectrum.rank(i));
  }
}

/// Arms stand side by side: the same place would hide one bar behind the other.
double shift(std::size_t arm, std::size_t arms) {
  return (static_cast<double>(arm) - static_cast<double>(arms - 1) / 2) * 0.16;
}

void add_values(Figure& figure,
                const StoredSpectrum& spectrum,
                std::size_t arms,
                const std::map<std::string, std::size_t>& at) {
  Series series{.arm = spectrum.arm, .quantity = "eigenvalue", .draw = Draw::kPoints};
  for (std::size_t i = 0; i < spectrum.values.size(); ++i) {
    const double value = spectrum.values[i];
    series.x.push_back(static_cast<double>(at.at(spectrum.rank(i))) + shift(spectrum.arm, arms));
    series.y.push_back(value);
    series.lower.push_back(value - spectrum.bounds[i]);
    series.upper.push_back(value + spectrum.bounds[i]);
    series.hollow.push_back(spectrum.resolved(i) ? 0 : 1);
    series.hover.push_back(fmt::format(
        "after {} steps, ± {}, residual {}, {}",
        spectrum.checkpoint,
        words(spectrum.bounds[i]),
        words(spectrum.residuals[i]),
        std::abs(value) <= spectrum.bounds[i] ? "sign not resolved" : spectrum.worth(i)));
  }
  if (!series.x.empty()) figure.series.push_back(std::move(series));
}

/// Values freed of the bias of a batch, with their 95 % intervals over the data.
void add_sampled(Figure& figure,
                 const StoredSpectrum& spectrum,
                 const std::vector<Arm>& arms,
                 const std::map<std::string, std::size_t>& at) {
  const Arm& arm = arms[spectrum.arm];
  Series series{.arm = spectrum.arm,
                .quantity = "eigenvalue over the data",
                .panel = 1,
                .draw = Draw::kPoints};
  const auto add = [&](const std::string& rank, double v, double low, double high, std::string of) {
    const auto found = at.find(rank);
    if (found == at.end() || std::isnan(v)) return;
    series.x.push_back(static_cast<double>(found->second) + shift(spectrum.arm, arms.size()) +
                       (of == kGrown ? 0.08 : 0));
    series.y.push_back(v);
    series.lower.push_back(low);
    series.upper.push_back(high);
    series.hollow.push_back(low <= 0 && high >= 0 ? 1 : 0);
    series.hover.push_back(std::move(of));
  };
  const auto table = newest_table(arm, spectrum.key(part::kBatches), 10);
  if (spectrum.same_ranks(table, arm.newest(spectrum.key(part::kBatchesFromLargest)))) {
    const auto count = arm.newest(spectrum.key(part::kBatchesCount));
    for (std::size_t i = 0; i < table[0].size(); ++i) {
      add(spectrum.rank(i),
          table[6][i],
          table[7][i],
          table[8][i],
          fmt::format("{} batches read {} in the mean; overlap of the vectors of two {}",
                      !count ? "several" : words(count->scalar.value),
                      words(table[0][i]),
                      words(table[9][i])));
    }
  }
  if (const auto leading = arm.newest(spectrum.key(part::kLeading))) {
    const auto& s = leading->scalar;
    add("λ1", s.value, s.lower.value_or(s.value), s.upper.value_or(s.value), kGrown);
    const std::string told =
        " Below, the second mark at λ1 is from a batch that grew until the "
        "interval was narrow.";
    if (!std::isnan(s.value) && series.x.size() > 1 &&
        figure.caption.find(told) == std::string::npos) {
      figure.caption += told;
    }
  }
  if (series.x.empty()) return;
  if (figure.panels.size() < 2) {
    figure.panels.push_back({.title = "over the distribution of the data: the bias of a batch "
                                      "taken out, bars are 95 % intervals",
                             .y = {.title = "eigenvalue", .signed_log = true},
                             .height = 1.3});
  }
  figure.series.push_back(std::move(series));
}

/// The density at a place, for a mark on its curve.
double height_at(const std::vector<double>& grid, const std::vector<double>& density, double x) {
  const auto after = std::lower_bound(grid.begin(), grid.end(), x);
  if (after == grid.begin()) return density.front();
  if (after == grid.end()) return density.back();
  const auto i = static_cast<std::size_t>(after - grid.begin());
  const double t = (x - grid[i - 1]) / (grid[i] - grid[i - 1]);
  return density[i - 1] + t * (density[i] - density[i - 1]);
}

bool add_density(Figure& figure, const StoredSpectrum& spectrum, const Arm& arm) {
  const auto table = newest_table(arm, spectrum.key(part::kDensity), 7);
  if (table.empty() || table[0].empty()) return false;
  const std::string note =
      "step " + std::to_string(arm.arrays.at({spectrum.key(part::kDensity), ""}).back().first);
  Series curve{.arm = spectrum.arm, .quantity = "density", .x = table[0], .y = table[1]};
  curve.lower = table[2];
  curve.upper = table[3];
  curve.hollow.assign(curve.x.size(), 0);
  curve.hover.assign(curve.x.size(), note);
  Series share = curve;
  share.quantity = "share at or below";
  share.panel = 1;
  share.y = table[4];
  share.lower = table[5];
  share.upper = table[6];
  figure.series.push_back(std::move(curve));
  figure.series.push_back(std::move(share));
  const auto outliers = newest_table(arm, spectrum.key(part::kOutliers), 2);
  if (outliers.empty() || outliers[0].empty()) return true;
  Series marks{.arm = spectrum.arm, .quantity = "density at an outlier", .draw = Draw::kPoints};
  for (std::size_t i = 0; i < outliers[0].size(); ++i) {
    marks.x.push_back(outliers[0][i]);
    marks.y.push_back(height_at(table[0], table[1], outliers[0][i]));
    marks.hollow.push_back(0);
    marks.hover.push_back(
        fmt::format("eigenvalue {} ± {}", words(outliers[0][i]), words(outliers[1][i])));
  }
  figure.series.push_back(std::move(marks));
  return true;
}

}  // namespace

std::vector<SpectrumGroup> spectrum_groups(const std::vector<Arm>& arms) {
  std::vector<SpectrumGroup> groups;
  std::map<std::string, int> uses;
  for (auto& spectrum : stored_spectra(arms)) {
    if (groups.empty() || groups.back().spectra.front().title() != spectrum.title()) {
      const int number = ++uses[spectrum.kind];
      groups.push_back(
          {.id = "spectrum_" + spectrum.kind + (number > 1 ? "_" + std::to_string(number) : "")});
    }
    groups.back().spectra.push_back(std::move(spectrum));
  }
  return groups;
}

Figure no_spectrum() {
  Figure figure{.id = "spectrum_eigenvalues", .title = "Curvature at a checkpoint"};
  figure.missing =
      "No spectrum was stored: `kappascope spectrum RUN --density` measures the eigenvalues and "
      "the density at a checkpoint, and adds them to the run.";
  return figure;
}

Figure spectrum_eigenvalues(const SpectrumGroup& group, const std::vector<Arm>& arms) {
  const auto& first = group.spectra.front();
  Figure figure{.id = group.id + "_eigenvalues",
                .title = "How sharp it is: eigenvalues of the " + first.title(),
                .topic = Topic::kOptimiser};
  figure.x.title = "eigenvalue, by rank from the largest (λ1) and from the smallest (λmin1)";
  figure.x.categories = true;
  figure.caption =
      "Each eigenvalue at the checkpoint with its bar: a true eigenvalue lies within it (bars "
      "shorter than the mark are hidden by it). A hollow mark did not converge, is not certified "
      "to "
      "be the one of its rank, or its bar reaches across zero.";
  std::map<std::string, std::size_t> at;
  tick_ranks(figure.x, group, at);
  figure.panels.push_back({.title = "on the batch, bars are error bounds",
                           .y = {.title = "eigenvalue", .signed_log = true},
                           .height = 2});
  for (const auto& spectrum : group.spectra) {
    figure.notes.push_back(arms[spectrum.arm].label + ": " +
                           certificate(spectrum, arms[spectrum.arm]));
    add_values(figure, spectrum, arms.size(), at);
  }
  if (figure.series.empty()) {
    figure.missing = fmt::format("{}", fmt::join(figure.notes, " "));
    figure.panels.clear();
    return figure;
  }
  for (const auto& spectrum : group.spectra) add_sampled(figure, spectrum, arms, at);
  add_spectrum_limits(figure, group, arms);
  return figure;
}

Figure spectrum_density(const SpectrumGroup& group, const std::vector<Arm>& arms) {
  const auto& first = group.spectra.front();
  Figure figure{.id = group.id + "_density",
                .title = "How many directions are sharp: density of the " + first.title(),
                .topic = Topic::kOptimiser};
  figure.x.title = "eigenvalue of the " + first.title();
  bool any = false;
  for (const auto& spectrum : group.spectra)
    any |= add_density(figure, spectrum, arms[spectrum.arm]);
  if (!any) {
    figure.missing = "No density was stored: `kappascope spectrum --density` measures it.";
    return figure;
  }
  figure.panels.push_back({.title = "density; marks are outliers, single eigenvalues off the bulk",
                           .y = {.title = "density", .log = true, .decades = 7},
                           .height = 2});
  figure.panels.push_back(
      {.title = "share of the eigenvalues at or below", .y = {.title = "share"}, .height = 1.2});
  figure.caption =
      "Stochastic Lanczos quadrature: the band of the density holds 95 % at each place, that of "
      "the share 95 % at all places at once. Most directions are flat (the peak at 0); densities "
      "below a ten-millionth of the peak are off the axis.";
  for (const auto& spectrum : group.spectra) {
    const Arm& arm = arms[spectrum.arm];
    const auto count = arm.newest(spectrum.key(part::kOutlierCount));
    const auto error = arm.newest(spectrum.key(part::kOutlierCountStderr));
    const auto negative = arm.newest(spectrum.key(part::kNegativeMass));
    if (!count || !error || !negative) continue;
    figure.notes.push_back(
        fmt::format("{}: {} ± {} of the {} eigenvalues lie outside the bulk (standard error), and "
                    "{} of all are negative ({}).",
                    arm.label,
                    words(count->scalar.value),
                    words(error->scalar.value),
                    grouped(spectrum.parameters),
                    percent(negative->scalar.value),
                    percent_interval(negative->scalar)));
    if (const auto trace = arm.newest(spectrum.key(part::kTrace)))
      figure.notes.back() += fmt::format(" Their sum, the trace, is {} ({}).",
                                         words(trace->scalar.value),
                                         interval(trace->scalar));
  }
  return figure;
}

}  // namespace kappascope::reports
