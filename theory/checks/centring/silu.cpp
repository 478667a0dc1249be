// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/centring/silu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

struct Pair {
  Rational left, right;
};

/// Neighbours on a grid, nearest to zero first, whole numbers before halves: the first that
/// refutes is the one with the roundest numbers.
std::vector<Pair> neighbours() {
  std::vector<Pair> pairs;
  for (const std::int64_t parts : {1, 2, 10}) {
    for (std::int64_t i = 0; i < 8 * parts; ++i) {
      pairs.push_back({{i, parts}, {i + 1, parts}});
      pairs.push_back({{-i - 1, parts}, {-i, parts}});
    }
  }
  return pairs;
}

Rational decimal(std::int64_t digits, std::int64_t unit) {
  return {digits, unit};
}

/// 2 - x tanh(x/2) = 2 - x(2σ(x) - 1), whose sign is the slope's own.
Enclosure curving(const Rational& x) {
  return Enclosure(2) - Enclosure(x) * (Enclosure(2) * sigmoid_enclosure(x) - Enclosure(1));
}

/// The last of the points unit/step apart, from `low` on, at which a falling function is positive.
template <typename Function>
Rational last_positive(const Function& f, std::int64_t low, std::int64_t high, std::int64_t unit) {
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (less(Rational(0), f(decimal(middle, unit))).value() ? low : high) = middle;
  }
  return decimal(low, unit);
}

std::string name(const Rational& x) {
  return fmt::format("silu({}) = {}", x, silu_enclosure(x));
}

Witness witness(const Pair& at, const char* says) {
  const auto left = silu_enclosure(at.left), right = silu_enclosure(at.right);
  return {fmt::format("{} and {}: {}", name(at.left), name(at.right), says),
          (right - left).middle(),
          (at.right - at.left).to_double()};
}

}  // namespace

Enclosure silu_slope(const Rational& x) {
  const auto sigma = sigmoid_enclosure(x);
  return sigma * (Enclosure(1) + Enclosure(x) * (Enclosure(1) - sigma));
}

Enclosure silu_lipschitz_constant() {
  constexpr std::int64_t kUnit = 1'000'000;
  const auto low = last_positive(curving, 2 * kUnit, 3 * kUnit, kUnit);
  const Rational high = low + Rational(std::int64_t{1}, kUnit);
  // Between them σ is at most σ(high), and σ(1-σ) at most its value at low.
  const auto at_low = sigmoid_enclosure(low);
  const auto above = sigmoid_enclosure(high) + Enclosure(high) * (at_low * (Enclosure(1) - at_low));
  return {silu_slope(low).lower, above.upper};
}

Verdict check_lipschitz(const Enclosure& stated) {
  Tally tally;
  for (const auto& pair : neighbours()) {
    const auto rise = silu_enclosure(pair.right) - silu_enclosure(pair.left);
    const auto allowed = stated.upper * (pair.right - pair.left);
    const bool exceeds = rise.lower > allowed || rise.upper < -allowed;
    tally.sizes({{"x", whole(pair.left)}});
    tally.sizes({{"x", whole(pair.right)}});
    tally.record(!exceeds, [&] {
      return witness(pair, fmt::format("they differ by more than {}", allowed).c_str());
    });
  }
  const auto constant = silu_lipschitz_constant();
  const bool inside = stated.lower <= constant.lower && constant.upper <= stated.upper;
  if (inside || constant.upper < stated.lower || constant.lower > stated.upper) {
    tally.record(inside, [&] {
      return Witness{fmt::format("the steepest slope is between {:.6f} and {:.6f}",
                                 constant.lower.to_double(),
                                 constant.upper.to_double()),
                     constant.middle(),
                     stated.middle()};
    });
  } else {
    tally.record_rounded(false, constant.middle(), stated.middle(), 0);
  }
  return tally.verdict("rise of silu", "what the statement allows", "exact, by rational bounds");
}

Verdict check_rises(const std::optional<Enclosure>& turn) {
  Tally tally;
  for (const auto& pair : neighbours()) {
    const bool after = !turn || pair.left >= turn->upper;
    const bool before = turn && pair.right <= turn->lower;
    if (!after && !before) continue;
    const auto rises = less(silu_enclosure(pair.left), silu_enclosure(pair.right));
    if (!rises) {
      tally.record_rounded(false, 0, 0, 0);
      continue;
    }
    tally.sizes({{"x", whole(pair.left)}});
    tally.sizes({{"x", whole(pair.right)}});
    tally.record(*rises == after, [&] { return witness(pair, *rises ? "it rises" : "it falls"); });
  }
  if (turn) {
    const auto sign = [](const Rational& x) { return exp_enclosure(x) + Enclosure(x + 1); };
    const Enclosure zero;
    const auto first = less(sign(turn->lower), zero), last = less(zero, sign(turn->upper));
    const auto text = [&](const Rational& x) {
      return fmt::format("1 + x + e^x = {:.6f} at x = {}", sign(x).middle(), x);
    };
    if (!first || !last) {
      tally.record_rounded(false, 0, 0, 0);
    } else {
      tally.record(*first && *last, [&] {
        return Witness{text(turn->lower) + ", " + text(turn->upper),
                       sign(turn->lower).middle(),
                       sign(turn->upper).middle()};
      });
    }
  }
  return tally.verdict("rise of silu", "step", "exact, by rational bounds");
}

}  // namespace kappascope::theory
