// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <torch/types.h>

#include <algorithm>
#include <limits>

#include "cli/say.h"
#include "core/printable.h"
#include "lab/cli/spectrum/spectrum.h"

namespace kappascope::cli {
namespace {

Shares shares_of(const at::Tensor& vector, const curvature::NamedParameters& parameters) {
  Shares shares;
  int64_t first = 0;
  for (const auto& [name, tensor] : parameters) {
    const auto part = vector.narrow(0, first, tensor.numel()).to(torch::kDouble);
    shares.emplace_back(name, part.square().sum().item<double>());
    first += tensor.numel();
  }
  std::sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) {
    return a.second > b.second;
  });
  return shares;
}

}  // namespace

std::vector<Shares> all_shares(const curvature::Eigenpairs& pairs,
                               const curvature::NamedParameters& parameters) {
  std::vector<Shares> all;
  for (Eigen::Index i = 0; i < pairs.found.eigenvalues.size(); ++i)
    all.push_back(shares_of(pairs.vectors[i], parameters));
  return all;
}

std::string text(const Shares& shares) {
  constexpr std::size_t kShown = 3;
  std::string out;
  for (std::size_t i = 0; i < std::min(kShown, shares.size()); ++i)
    out += fmt::format(
        "{}{} {:.0f} %", out.empty() ? "" : ", ", shares[i].first, 100 * shares[i].second);
  return out;
}

double learning_rate_at(const store::RunReader& run, int64_t step) {
  double rate = std::numeric_limits<double>::quiet_NaN();
  for (const auto& row : run.scalars({store::id::kLearningRate, ""})) {
    if (row.step < step) rate = row.scalar.value;
  }
  return rate;
}

void print_certificate(const SpectrumResult& result) {
  const auto& found = result.pairs.value;
  say("{}",
      Lines{linalg::certificate(found,
                                {.max_products = "--max-products",
                                 .tolerance = "--tolerance",
                                 .both_ends = "--which both",
                                 .find_repeated = "--find-repeated",
                                 .certify = "--certify"})});
  if (found.eigenvalues.size() == 0) return;
  say("Products are in {} ({}), good to about {:.1g}; asked for was {:.1g}.\n",
      result.type,
      result.product_kind,
      result.product_noise * found.magnitude(),
      found.tolerances.minCoeff());
  if (!result.product_reason.empty())
    say("They are not exact because: {}\n", result.product_reason);
}

}  // namespace kappascope::cli
