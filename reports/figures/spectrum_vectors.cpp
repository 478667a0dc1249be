// SPDX-License-Identifier: Apache-2.0
// Where in the network the top eigenvectors lie.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "reports/figures/builders.h"
#include "reports/runs/spectra.h"

namespace kappascope::reports {
namespace {

/// More rows than these are merged into the part of the network that they belong to.
constexpr std::size_t kMostRows = 32;

/// The first `depth` parts of "blocks.0.up.weight"; all of them for 0.
std::string prefix(const std::string& name, std::size_t depth) {
  std::size_t end = 0;
  for (std::size_t taken = 0; taken < depth && end != std::string::npos; ++taken)
    end = name.find('.', end == 0 ? 0 : end + 1);
  return depth == 0 || end == std::string::npos ? name : name.substr(0, end);
}

/// Weight and bias make one layer: names without their last part.
std::string without_last(const std::string& name) {
  const auto dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(0, dot);
}

std::vector<std::string> parameters_of(const Arm& arm, const std::string& name) {
  std::vector<std::string> parameters;
  for (const auto& [key, arrays] : arm.arrays) {
    if (key.name == name) parameters.push_back(key.layer);
  }
  return parameters;
}

/// Parameter -> row, as fine as kMostRows allows.
std::map<std::string, std::string> rows_of(const std::vector<std::string>& parameters) {
  std::map<std::string, std::string> rows;
  for (const auto& name : parameters) rows[name] = without_last(name);
  const auto count = [&] {
    std::set<std::string> names;
    for (const auto& [from, to] : rows) names.insert(to);
    return names.size();
  };
  for (std::size_t depth = 3; depth >= 1 && count() > kMostRows; --depth) {
    for (auto& [from, to] : rows) to = prefix(to, depth);
  }
  return rows;
}

}  // namespace

Figure spectrum_vectors(const SpectrumGroup& group, const std::vector<Arm>& arms) {
  const auto& first = group.spectra.front();
  Figure figure{.id = group.id + "_vectors",
                .title = "Where it is sharp: layers of the eigenvectors of the " + first.title(),
                .topic = Topic::kOptimiser};
  figure.x.title = "eigenvector of the eigenvalue";
  figure.x.categories = true;
  std::map<std::string, std::size_t> at;
  bool merged = false;
  for (const auto& spectrum : group.spectra) {
    const Arm& arm = arms[spectrum.arm];
    const auto parameters = parameters_of(arm, spectrum.key(part::kShare));
    if (parameters.empty() || spectrum.values.empty()) continue;
    const auto rows = rows_of(parameters);
    std::map<std::string, std::vector<double>> shares;
    for (const auto& [parameter, row] : rows) {
      merged = merged || row != without_last(parameter);
      const auto table = newest_table(arm, spectrum.key(part::kShare), 1, parameter);
      if (table.empty() || table[0].size() != spectrum.values.size()) continue;
      auto& sum = shares[row];
      sum.resize(table[0].size());
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += table[0][i];
    }
    if (shares.empty()) continue;
    Panel panel{.title = arm.label + fmt::format(", after {} training steps", spectrum.checkpoint),
                .y = {.title = "layer", .categories = true}};
    std::vector<std::string> names;
    names.reserve(shares.size());
    for (const auto& [name, sum] : shares) names.push_back(name);
    std::sort(names.begin(), names.end(), natural_less);
    std::reverse(names.begin(), names.end());  // the first stands on top
    for (std::size_t row = 0; row < names.size(); ++row) {
      panel.y.ticks.push_back({static_cast<double>(row), names[row]});
      Series series{.arm = spectrum.arm,
                    .layer = names[row],
                    .quantity = "share of the eigenvector",
                    .panel = figure.panels.size(),
                    .draw = Draw::kCells};
      for (std::size_t i = 0; i < spectrum.values.size(); ++i) {
        const auto rank = spectrum.rank(i);
        if (at.emplace(rank, figure.x.ticks.size()).second)
          figure.x.ticks.push_back({static_cast<double>(figure.x.ticks.size()), rank});
        series.x.push_back(static_cast<double>(at[rank]));
        series.y.push_back(static_cast<double>(row));
        series.shade.push_back(shares[names[row]][i]);
        series.hollow.push_back(0);
      }
      figure.series.push_back(std::move(series));
    }
    panel.height = std::max(0.6, 0.145 * static_cast<double>(names.size()));
    figure.panels.push_back(std::move(panel));
  }
  figure.caption =
      "How much of each eigenvector (squared, so that a column sums to 100 %) lies in each layer: "
      "a step along a sharp direction moves these layers most.";
  if (merged)
    figure.caption += " Layers are merged by the part of the network that they belong to.";
  if (figure.panels.empty()) figure.missing = "No eigenvector was stored.";
  return figure;
}

}  // namespace kappascope::reports
