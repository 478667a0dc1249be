// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/asger/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

using Shapes = std::vector<Widths>;  // rows and columns

Shapes standard_shapes(const Widths& at) {
  const auto [d, f] = at;
  return {{f, d}, {f, d}, {d, f}};
}

Shapes asger_shapes(const Widths& at) {
  auto shapes = standard_shapes(at);
  const auto f = at.feedforward;
  shapes.insert(shapes.end(), {{f, f}, {f, f}});
  return shapes;
}

std::int64_t count(const Shapes& shapes) {
  std::int64_t sum = 0;
  for (const auto& [rows, columns] : shapes) sum += rows * columns;
  return sum;
}

std::int64_t floor_root(std::int64_t value) {
  auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(value)));
  while (root * root > value) --root;
  while ((root + 1) * (root + 1) <= value) ++root;
  return root;
}

struct BestWidth {
  std::int64_t width = 0, miss = 0;
};

/// By trying every width.
BestWidth best_width(const Widths& standard) {
  const std::int64_t wanted = count(standard_shapes(standard));
  BestWidth best{0, wanted};
  for (std::int64_t f = 1; f <= standard.feedforward; ++f) {
    const std::int64_t gap = std::abs(count(asger_shapes({standard.model, f})) - wanted);
    if (gap < best.miss) best = {f, gap};
  }
  return best;
}

std::string describe(const Widths& at, const BestWidth& best) {
  return fmt::format(
      "d = {}, F = {}: the standard layer has {} parameters; the nearest that a "
      "whole width gives is {}, at f = {}",
      at.model,
      at.feedforward,
      count(standard_shapes(at)),
      count(asger_shapes({at.model, best.width})),
      best.width);
}

}  // namespace

Verdict check_parameter_count(const ParameterCount& says, const std::vector<Widths>& widths) {
  Tally tally;
  for (const auto& at : widths) {
    const std::int64_t actual = count(asger_shapes(at)), stated = says(at.model, at.feedforward);
    tally.sizes({{"d", at.model}, {"F", at.feedforward}});
    tally.compare(actual, stated, [&] {
      return fmt::format(
          "d = {}, f = {}: {} parameters, the statement says {}; in 12 layers the "
          "difference is {}",
          at.model,
          at.feedforward,
          actual,
          stated,
          12 * (actual - stated));
    });
  }
  return tally.verdict("parameters of ASGER's matrices", "as stated", "exact");
}

std::int64_t derived_miss(const Widths& standard) {
  const auto [d, width] = standard;
  const std::int64_t below = (floor_root(9 * d * d + 24 * d * width) - 3 * d) / 4;
  const auto excess = [d = d, width = width](std::int64_t f) {
    return 3 * d * f + 2 * f * f - 3 * d * width;
  };
  return std::min(-excess(below), excess(below + 1));
}

Verdict check_balance(const SmallestMiss& says, const std::vector<Widths>& widths) {
  Tally tally;
  for (const auto& at : widths) {
    const auto found = best_width(at);
    tally.sizes({{"d", at.model}, {"F", at.feedforward}});
    tally.compare(found.miss, says(at), [&] { return describe(at, found); });
  }
  return tally.verdict("parameters that the best width misses", "as stated", "exact");
}

Verdict check_nearly_balanced(const Rational& share, const std::vector<Widths>& widths) {
  Tally tally;
  for (const auto& at : widths) {
    const auto found = best_width(at);
    const Rational missed = Rational(found.miss) / count(standard_shapes(at));
    tally.sizes({{"d", at.model}, {"F", at.feedforward}});
    tally.record(missed <= share, [&] {
      return Witness{describe(at, found), missed.to_double(), share.to_double()};
    });
  }
  return tally.verdict("share of the parameters missed", "at most", "exact");
}

std::vector<Widths> small_widths() {
  std::vector<Widths> widths;
  for (std::int64_t d = 1; d <= 40; ++d) {
    for (std::int64_t f = 1; f <= 60; ++f) widths.push_back({d, f});
  }
  return widths;
}

std::vector<Widths> transformer_widths() {
  return {{768, 3072}};
}

}  // namespace kappascope::theory
