// SPDX-License-Identifier: Apache-2.0
// How often does the stated 95 % interval of the steps to 90 % hold those of the population? A
// table in Markdown: planted spectra, rows that depend on one another, fixed seeds.
//
//   learning_coverage [WIDTH [DRAWS [N_OVER_D...]]]       64 200 0.5 1 2 8
#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "kappascope/tensor/learning.h"

namespace {

using kappascope::linalg::Resolution;

constexpr int64_t kSequence = 16;
enum class Rows {
  kGaussian,
  kElliptical,
  kIndependentT,
  kSparse,
  kSpikes,
  kSlow,
  kAlternating,
  kSubspace,
  kScale
};
struct Kind {
  Rows rows;
  const char* name;
  int64_t group;
};
const std::vector<Kind> kKinds = {{Rows::kGaussian, "Gaussian", 1},
                                  {Rows::kElliptical, "t3, a scale a row", 1},
                                  {Rows::kIndependentT, "t3, each entry", 1},
                                  {Rows::kSparse, "sparse: max(z - 1, 0)", 1},
                                  {Rows::kSpikes, "spikes: 30 z, p = 0.001", 1},
                                  {Rows::kSlow, "AR(1), 0.95", kSequence},
                                  {Rows::kAlternating, "AR(1), -0.95", kSequence},
                                  {Rows::kSubspace, "sequences in 4 directions", kSequence},
                                  {Rows::kScale, "sequences with a scale", kSequence}};

/// Rows [n, d] whose covariance is the identity, with mean zero.
at::Tensor white_rows(Rows rows, int64_t n, int64_t d) {
  const auto options = torch::dtype(torch::kFloat);
  auto z = torch::randn({n, d}, options);
  const auto chi_squared = [&](at::IntArrayRef shape) {
    auto sum = torch::zeros(shape, options);
    for (int i = 0; i < 3; ++i) sum += torch::randn(shape, options).square();
    return sum;
  };
  const int64_t sequences = n / kSequence;
  switch (rows) {
    case Rows::kGaussian:
      return z;
    case Rows::kElliptical:
      return z / chi_squared({n, 1}).sqrt();
    case Rows::kIndependentT:
      return z / chi_squared({n, d}).sqrt();
    case Rows::kSparse: {
      // Of max(z - 1, 0): mean φ(1) - Q(1), second moment 2 Q(1) - φ(1).
      const double density = std::exp(-0.5) / std::sqrt(2 * std::numbers::pi);
      const double tail = 0.5 * std::erfc(1 / std::numbers::sqrt2);
      const double mean = density - tail, square = 2 * tail - density;
      return ((z - 1).clamp_min(0) - mean) / std::sqrt(square - mean * mean);
    }
    case Rows::kSpikes: {
      constexpr double kShare = 1e-3, kHeight = 30;
      const auto high = torch::rand({n, d}, options) < kShare;
      return z * torch::where(high, kHeight, 1.0) / std::sqrt(1 + kShare * (kHeight * kHeight - 1));
    }
    case Rows::kSlow:
    case Rows::kAlternating: {
      const double rho = rows == Rows::kSlow ? 0.95 : -0.95;
      auto tokens = z.view({sequences, kSequence, d});
      for (int64_t t = 1; t < kSequence; ++t)
        tokens.select(1, t).mul_(std::sqrt(1 - rho * rho)).add_(tokens.select(1, t - 1), rho);
      return z;
    }
    case Rows::kSubspace:
      return torch::randn({sequences, kSequence, 4}, options)
          .bmm(torch::randn({sequences, 4, d}, options) / 2)
          .reshape({-1, d});
    case Rows::kScale: {
      const auto scale = (0.7 * torch::randn({sequences, 1, 1}, options) - 0.49).exp();
      return (z.view({sequences, kSequence, d}) * scale).reshape({-1, d});
    }
  }
  return z;
}

at::Tensor spectrum(const std::string& name, int64_t d) {
  const auto i = torch::arange(1, d + 1, torch::kDouble);
  if (name == "flat") return torch::ones_like(i);
  if (name == "i^-1") return i.reciprocal();
  if (name == "i^-2") return i.square().reciprocal();
  auto outlier = torch::ones_like(i);
  outlier[0] = static_cast<double>(d);
  return outlier;
}

/// log of the steps until a tenth of tr[Σ (1 - M/λmax)^{2T}] / tr Σ remains, at least 0, for Σ
/// diagonal and M = Σ + ccᵀ.
double log_steps(const at::Tensor& variances, const at::Tensor& c) {
  const auto [values, vectors] = torch::linalg_eigh(torch::diag(variances) + torch::outer(c, c));
  const auto shares = vectors.square().t().mv(variances) / variances.sum();
  const auto rates = 2 * torch::log1p(-(values / values.max()).clamp(0, 1 - 1e-15));
  const auto remains = [&](double steps) {
    return (shares * (rates * steps).exp()).sum().item<double>();
  };
  double low = 0, high = 30;
  if (remains(1) <= 0.1) return 0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (remains(std::exp(middle)) > 0.1 ? low : high) = middle;
  }
  return low;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct Tally {
  int draws = 0, held = 0, silent = 0, resolved = 0, ratio_held = 0, ratio_told = 0;
  std::vector<double> errors, widths;
};

}  // namespace

int main(int argc, char** argv) {
  const int64_t d = argc > 1 ? std::stoll(argv[1]) : 64;
  const int draws = argc > 2 ? std::stoi(argv[2]) : 200;
  std::vector<double> ratios;
  for (int i = 3; i < argc; ++i) ratios.push_back(std::stod(argv[i]));
  if (ratios.empty()) ratios = {0.5, 1, 2, 8};
  fmt::print("d = {}, {} draws a cell. Median error and width are factors.\n\n", d, draws);
  fmt::print(
      "| spectrum | rows | n/d | holds | not resolved | within 2 | median error | median width | "
      "mean costs holds | of told |\n");
  fmt::print("|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string name : {"flat", "i^-1", "i^-2", "outlier"}) {
    const auto values = spectrum(name, d);
    const double truth = log_steps(values, torch::zeros_like(values));
    // A mean along all features alike, of the length that all variances together have.
    const auto mean = (values.sum() / d).sqrt() * torch::ones({d}, torch::kDouble);
    const double with_mean = log_steps(values, mean);
    for (const auto& kind : kKinds) {
      for (const double ratio : ratios) {
        const auto n =
            static_cast<int64_t>(ratio * static_cast<double>(d)) / kind.group * kind.group;
        Tally tally;
        for (int draw = 0; draw < draws; ++draw) {
          torch::manual_seed(1000 + draw);
          const auto rows = white_rows(kind.rows, n, d) * values.sqrt().to(torch::kFloat) +
                            mean.to(torch::kFloat);
          kappascope::tensor::LearningOptions options;
          options.rows_per_group = kind.group;
          const auto found = kappascope::tensor::learning(rows, {}, options);
          const auto& ninety = found.sigma.ninety;
          ++tally.draws;
          const bool silent = ninety.resolution == Resolution::kNotResolvable;
          if (silent) ++tally.silent;
          if (ninety.resolution == Resolution::kResolved) ++tally.resolved;
          if (std::log(ninety.lower) <= truth + 1e-9 && std::log(ninety.upper) >= truth - 1e-9)
            ++tally.held;
          if (std::isfinite(ninety.value)) tally.errors.push_back(ninety.value / std::exp(truth));
          tally.widths.push_back(ninety.upper / ninety.lower);
          const auto& costs = found.mean_costs;
          if (!std::isnan(costs.value)) {
            ++tally.ratio_told;
            const double ratio_truth = std::exp(with_mean - truth);
            if (costs.lower <= ratio_truth && ratio_truth <= costs.upper) ++tally.ratio_held;
          }
        }
        fmt::print("| {} | {} | {:g} | {:.1f} % | {} | {} | {:.2f} | {:.1f} | {} | {} |\n",
                   name,
                   kind.name,
                   ratio,
                   100.0 * tally.held / tally.draws,
                   tally.silent,
                   tally.resolved,
                   tally.errors.empty() ? std::nan("") : median(tally.errors),
                   median(tally.widths),
                   tally.ratio_held,
                   tally.ratio_told);
        std::fflush(stdout);
      }
    }
  }
}
