// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "lab/cli/spectrum/spectrum.h"

namespace kappascope::cli {
namespace {

/// The interval leads: the estimate alone may say little, as where it reaches from 4 % to 98 %.
std::string share(const char* what, const linalg::Share& share) {
  return fmt::format("{:.3g} to {:.3g} of the spectrum is {} (estimate {:.3g}).\n",
                     share.lower,
                     share.upper,
                     what,
                     share.value);
}

/// The density over its grid, the largest of each of 64 columns, on a logarithmic scale.
std::string picture(const linalg::Density& density) {
  constexpr Eigen::Index kColumns = 64;
  constexpr double kDecades = 4;
  static constexpr std::array<const char*, 9> kBars = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const Eigen::Index points = density.grid.size();
  if (points == 0) return {};
  const double peak = density.density.maxCoeff();
  std::string bars;
  for (Eigen::Index c = 0; c < std::min(kColumns, points); ++c) {
    const Eigen::Index columns = std::min(kColumns, points);
    const Eigen::Index first = c * points / columns, end = (c + 1) * points / columns;
    const double value = density.density.segment(first, end - first).maxCoeff();
    const double height = value > 0 ? 1 + std::log10(value / peak) / kDecades : 0;
    const auto level = std::ceil(std::clamp(height, 0.0, 1.0) * (kBars.size() - 1));
    bars += kBars.at(static_cast<std::size_t>(level));
  }
  const std::string left = fmt::format("{:.4g}", density.grid[0]);
  const std::string right = fmt::format("{:.4g}", density.grid[points - 1]);
  const auto width =
      static_cast<std::size_t>(std::min(kColumns, points)) - std::min<std::size_t>(left.size(), 63);
  return fmt::format("  {}\n  {}{:>{}}\n  (logarithm of the density, {} decades below its peak)\n",
                     bars,
                     left,
                     right,
                     width,
                     kDecades);
}

}  // namespace

std::string density_text(const linalg::Density& density, const std::string& file) {
  if (density.status != linalg::KrylovStatus::kConverged)
    return "No density: a product was not finite.\n";
  std::string text = "Spectral density:\n" + picture(density);
  text += share("negative", density.negative_mass);
  text += share("within 1e-3 of the largest magnitude of zero", density.near_zero_mass);
  text += fmt::format(
      "The bulk reaches from {:.4g} to {:.4g}; outside it lie {:.3g} +- {:.2g} eigenvalues "
      "(standard error)",
      density.bulk_low,
      density.bulk_high,
      density.outlier_count,
      density.outlier_count_stderr);
  for (std::size_t i = 0; i < density.outliers.size(); ++i) {
    text += fmt::format("{}{:.5g} +- {:.1e}",
                        i == 0 ? ", of which resolved: " : ", ",
                        density.outliers[i].value,
                        density.outliers[i].bound);
  }
  return text + (file.empty() ? ".\nFor the numbers, pass --density-out FILE or --json.\n"
                              : fmt::format(".\nThe numbers are in {}.\n", file));
}

std::string density_csv(const linalg::Density& density) {
  auto csv = fmt::format("{},cumulative_lower,cumulative_upper\n", kDensityMark);
  for (Eigen::Index i = 0; i < density.grid.size(); ++i) {
    csv += fmt::format("{},{},{},{},{},{},{}\n",
                       density.grid[i],
                       density.density[i],
                       density.lower[i],
                       density.upper[i],
                       density.cumulative[i],
                       density.cumulative_lower[i],
                       density.cumulative_upper[i]);
  }
  return csv;
}

}  // namespace kappascope::cli
