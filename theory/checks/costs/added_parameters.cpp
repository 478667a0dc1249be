// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/costs/added_parameters.h"

#include <fmt/format.h>

#include <utility>

#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

using Shapes = std::vector<std::pair<std::int64_t, std::int64_t>>;  // rows and columns

Shapes plain_shapes(const LayerSizes& at) {
  return {{at.d, at.f}, {at.d, at.f}, {at.f, at.d}};
}

Shapes added_shapes(Addition addition, const LayerSizes& at) {
  if (addition == Addition::kPostGatingBias) return {{at.f, 1}};
  if (addition == Addition::kSpatialPart) return {{at.f, at.f}, {at.f, at.f}};
  return {{at.k, at.d}, {at.d, at.k}, {at.k, 1}, {at.k, 1}, {1, 1}};
}

std::int64_t count(const Shapes& shapes) {
  std::int64_t sum = 0;
  for (const auto& [rows, columns] : shapes) sum += rows * columns;
  return sum;
}

Rational added_share(Addition addition, const LayerSizes& at) {
  return Rational(count(added_shapes(addition, at))) / count(plain_shapes(at));
}

std::string describe(Addition addition, const LayerSizes& at) {
  return fmt::format("d = {}, f = {}{}: {} adds {} to {} parameters",
                     at.d,
                     at.f,
                     at.k > 0 ? fmt::format(", k = {}", at.k) : "",
                     to_string(addition),
                     count(added_shapes(addition, at)),
                     count(plain_shapes(at)));
}

std::vector<LayerSizes> all_sizes(Addition addition) {
  constexpr std::int64_t kLargest = 24;
  std::vector<LayerSizes> sizes;
  const bool branch = addition == Addition::kIsotropyBranch;
  for (std::int64_t d = 1; d <= kLargest; ++d) {
    for (std::int64_t f = 1; f <= kLargest; ++f) sizes.push_back({d, f, branch ? 1 + f % 8 : 0});
  }
  for (const auto& at : branch ? branch_sizes() : bias_sizes()) sizes.push_back(at);
  return sizes;
}

}  // namespace

const char* to_string(Addition addition) {
  if (addition == Addition::kPostGatingBias) return "a post-gating bias";
  return addition == Addition::kSpatialPart ? "the spatial part" : "the isotropy branch";
}

Verdict check_added_share(Addition addition, const AddedShare& says) {
  Tally tally;
  for (const auto& at : all_sizes(addition)) {
    tally.sizes({{"d", at.d}, {"f", at.f}});
    tally.compare(added_share(addition, at), says(at), [&] { return describe(addition, at); });
  }
  return tally.verdict("added share of the parameters", "as stated", "exact");
}

Verdict check_added_at_most(Addition addition,
                            const Rational& bound,
                            const std::vector<LayerSizes>& sizes) {
  Tally tally;
  for (const auto& at : sizes) {
    const Rational share = added_share(addition, at);
    tally.sizes({{"d", at.d}, {"f", at.f}});
    tally.record(share <= bound, [&] {
      return Witness{describe(addition, at), share.to_double(), bound.to_double()};
    });
  }
  return tally.verdict("added share of the parameters", "at most", "exact");
}

std::vector<LayerSizes> bias_sizes() {
  return {{576, 1536}, {256, 256}, {128, 128}, {64, 64}, {3072, 8192}};
}

std::vector<LayerSizes> branch_sizes() {
  return {{768, 3072, 96}, {768, 3072, 384}};
}

Verdict check_spatial_costs_more(std::int64_t f) {
  Tally tally;
  const LayerSizes standard{768, 3072}, at{768, f};
  const std::int64_t with =
      count(plain_shapes(at)) + count(added_shapes(Addition::kSpatialPart, at));
  const std::int64_t without = count(plain_shapes(standard));
  tally.sizes({{"d", 768}, {"f", f}});
  tally.record(with > without, [&] {
    return Witness{fmt::format("d = 768, f = {}: {} multiplications a token with the spatial part, "
                               "{} in the standard layer of width 3072",
                               f,
                               with,
                               without),
                   static_cast<double>(with),
                   static_cast<double>(without)};
  });
  return tally.verdict("multiplications with the spatial part", "without it, fewer", "exact");
}

}  // namespace kappascope::theory
