// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/asger/gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "theory/tools/random.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

const Rational kHalf(1, 2);

/// Whether G(x) = y for some x.
bool takes(const AsgerGate& gate, const Rational& y) {
  const Rational width = 1 + 2 * gate.alpha;
  if (gate.beta == 0) return y == width * kHalf - gate.alpha;
  if (width == 0) return y == -gate.alpha;
  const Rational sigmoid = (y + gate.alpha) / width;
  return 0 < sigmoid && sigmoid < 1;
}

bool holds(const GateRange& range, const Rational& y) {
  return range.closed ? range.lower <= y && y <= range.upper : range.lower < y && y < range.upper;
}

std::vector<Rational> probes_of(const AsgerGate& gate) {
  const Rational near(1, 1000), low = -gate.alpha, width = 1 + 2 * gate.alpha;
  std::vector<Rational> values;
  for (const Rational& end : {low, Rational(1 + gate.alpha)}) {
    for (const Rational& offset : {Rational(0), -near, near, Rational(-1), Rational(1)}) {
      values.push_back(end + offset);
    }
  }
  for (int i = 1; i < 8; ++i) values.push_back(low + width * Rational(i, 8));
  return values;
}

/// m·e^(1+m), which is 1 where -m is the least value of gσ(g), and grows with m.
Enclosure depth(const Rational& m) {
  return Enclosure(m) * exp_enclosure(1 + m);
}

std::vector<Rational> grid() {
  std::vector<Rational> points{0};
  for (int i = 1; i <= 8; ++i) points.insert(points.end(), {-i, i});
  for (int i = 1; i < 32; ++i) {
    if (i % 4 != 0) points.insert(points.end(), {Rational(-i, 4), Rational(i, 4)});
  }
  return points;
}

void judge_infimum(const Enclosure& stated, Tally& tally) {
  const auto witness = [](const Rational& end, const char* what) {
    return [end, what] {
      const Enclosure value = depth(-end);
      return Witness{fmt::format("m = {}: m·e^(1+m) is {}, so {}", -end, value.text(6), what),
                     value.upper.to_double(),
                     1};
    };
  };
  const Enclosure deepest = depth(-stated.lower), shallowest = depth(-stated.upper);
  if (deepest.lower >= 1 || deepest.upper < 1) {
    tally.record(deepest.lower >= 1, witness(stated.lower, "gσ(g) goes below -m"));
  }
  if (shallowest.upper <= 1 || shallowest.lower > 1) {
    tally.record(shallowest.upper <= 1, witness(stated.upper, "gσ(g) stays above -m"));
  }
}

}  // namespace

std::string AsgerGate::text() const {
  return fmt::format("α = {}, β = {}", alpha, beta);
}

std::vector<AsgerGate> published_gates(std::uint64_t seed) {
  std::vector<AsgerGate> gates;
  for (const Rational& beta : {Rational(1), Rational(1, 2), Rational(3)}) {
    for (const Rational& alpha : {kHalf, Rational(1), Rational(1, 4), Rational(3)}) {
      gates.push_back({alpha, beta});
    }
  }
  Random random(seed);
  for (int i = 0; i < 200; ++i) {
    gates.push_back({Rational(random.integer(1, 50), random.integer(1, 20)),
                     Rational(random.integer(1, 50), random.integer(1, 20))});
  }
  return gates;
}

std::vector<AsgerGate> any_gates(std::uint64_t seed) {
  std::vector<AsgerGate> gates;
  for (const std::int64_t beta : {1, -1, 0, 2}) {
    for (const std::int64_t quarters : {2, 0, 4, 1, -1, -2, -3, -8}) {
      gates.push_back({Rational(quarters) / 4, beta});
    }
  }
  Random random(seed);
  for (int i = 0; i < 200; ++i) {
    gates.push_back({Rational(random.integer(-50, 50), random.integer(1, 20)),
                     Rational(random.integer(-50, 50), random.integer(1, 20))});
  }
  return gates;
}

GateRange open_range(const AsgerGate& gate) {
  if (gate.beta == 0 || gate.alpha == -kHalf) return {kHalf, kHalf, true};
  const Rational a = -gate.alpha, b = 1 + gate.alpha;
  return {std::min(a, b), std::max(a, b), false};
}

Verdict check_gate_range(const RangeStatement& says, const std::vector<AsgerGate>& gates) {
  Tally tally;
  for (const auto& gate : gates) {
    const GateRange range = says(gate);
    for (const auto& y : probes_of(gate)) {
      const bool taken = takes(gate, y), stated = holds(range, y);
      tally.sizes({{"values a gate", std::ssize(probes_of(gate))}});
      tally.record(taken == stated, [&] {
        const Rational width = 1 + 2 * gate.alpha;
        return Witness{fmt::format("{}: G = {} asks for σ(βx) = {}, which {}",
                                   gate,
                                   y,
                                   width == 0 ? "0/0" : ((y + gate.alpha) / width).text(),
                                   taken ? "some x gives" : "no x gives"),
                       taken ? 1.0 : 0.0,
                       stated ? 1.0 : 0.0};
      });
    }
  }
  return tally.verdict("G takes the value (1) or not (0)", "as stated", "exact");
}

SiluRange derived_silu_range() {
  constexpr int kMillion = 1'000'000;
  return {
      Enclosure{Rational(-278'465) / kMillion, Rational(-278'464) / kMillion}, std::nullopt, true};
}

Verdict check_silu_range(const SiluRange& says) {
  Tally tally;
  for (const auto& g : grid()) {
    const Enclosure value = silu_enclosure(g);
    const auto describe = [&](const Rational& bound) {
      return [&value, &g, bound] {
        return Witness{fmt::format("g = {}: gσ(g) is {}", g, value),
                       value.lower.to_double(),
                       bound.to_double()};
      };
    };
    tally.sizes({{"g", whole(g)}});
    if (says.infimum) {
      tally.record(value.upper >= says.infimum->lower, describe(says.infimum->lower));
    }
    if (says.supremum) tally.record(value.lower <= *says.supremum, describe(*says.supremum));
    if (says.unbounded && g >= 0) tally.record(2 * value.lower >= g, describe(g * kHalf));
  }
  if (says.infimum) judge_infimum(*says.infimum, tally);
  return tally.verdict("gσ(g)", "its stated bound", "exact");
}

Verdict check_in_unit_interval(const InUnitInterval& says) {
  Tally tally;
  for (const auto& g : grid()) {
    const Enclosure value = silu_enclosure(g);
    const bool inside = value.lower >= 0 && value.upper <= 1;
    tally.sizes({{"g", whole(g)}});
    tally.record(inside == says(g), [&] {
      return Witness{fmt::format("g = {}: gσ(g) is {}", g, value), value.lower.to_double(), 1};
    });
  }
  return tally.verdict("gσ(g)", "the end of [0, 1]", "exact");
}

Verdict check_reaches_lower(const ReachesLower& says) {
  Tally tally;
  for (int percent = 1; percent <= 200; ++percent) {
    const Rational alpha(percent, 100);
    // -α is below every gσ(g) exactly when m = α is beyond the root of m·e^(1+m) = 1.
    const Enclosure value = depth(alpha);
    if (overlap(value, Enclosure(1))) continue;
    tally.sizes({{"α in hundredths", percent}});
    tally.record((value.lower > 1) == says(alpha), [&] {
      return Witness{
          fmt::format("α = {}: α·e^(1+α) is {}", alpha, value), value.lower.to_double(), 1};
    });
  }
  return tally.verdict("α·e^(1+α)", "1, where -α is SwiGLU's least value", "exact");
}

}  // namespace kappascope::theory
