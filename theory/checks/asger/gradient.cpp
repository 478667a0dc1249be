// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/asger/gradient.h"

#include <fmt/format.h>

#include "theory/tools/random.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

/// E of the squared gradient, for β = 1: another β multiplies it at every α alike.
Rational gradient_energy(GradientPath path, const Rational& alpha, const GateLaw& law) {
  const Rational width = 1 + 2 * alpha;
  Rational sum = 0;
  for (const auto& atom : law.atoms) {
    const Rational& s = atom.sigmoid;
    const Rational local = path == GradientPath::kGate ? width * s * (1 - s) : width * s - alpha;
    sum += atom.weight * (atom.factor * local) * (atom.factor * local);
  }
  return sum;
}

/// Weights as drawn, divided by their sum.
GateLaw normalised(std::string text, std::vector<GateAtom> atoms) {
  Rational total = 0;
  for (const auto& atom : atoms) total += atom.weight;
  for (auto& atom : atoms) atom.weight /= total;
  return {std::move(text), std::move(atoms)};
}

GateLaw symmetric_law(const std::vector<GateAtom>& upper_half,
                      const std::vector<GateAtom>& factors,
                      std::string text) {
  std::vector<GateAtom> atoms;
  for (const auto& half : upper_half) {
    for (const auto& other : factors) {
      const Rational weight = half.weight * other.weight;
      atoms.push_back({weight, half.sigmoid, other.factor});
      atoms.push_back({weight, 1 - half.sigmoid, other.factor});
    }
  }
  return normalised(std::move(text), std::move(atoms));
}

GateAtom draw(Random& random) {
  const std::int64_t denominator = random.integer(2, 12);
  return {random.integer(1, 5),
          Rational(random.integer(1, denominator - 1), denominator),
          random.integer(-3, 3)};
}

std::vector<GateAtom> draws_of(Random& random) {
  std::vector<GateAtom> atoms(static_cast<std::size_t>(random.integer(1, 3)));
  for (auto& atom : atoms) atom = draw(random);
  return atoms;
}

}  // namespace

Rational GateLaw::mean() const {
  Rational sum = 0;
  for (const auto& atom : atoms) sum += atom.weight * atom.sigmoid;
  return sum;
}

Rational GateLaw::variance() const {
  Rational sum = 0;
  for (const auto& atom : atoms) sum += atom.weight * atom.sigmoid * atom.sigmoid;
  return sum - mean() * mean();
}

std::vector<GateLaw> symmetric_laws(std::uint64_t seed, int draws) {
  const std::vector<GateAtom> one{{1, 0, 1}};
  std::vector<GateLaw> laws{
      symmetric_law({{1, Rational(3, 4), 0}}, one, "σ(βg) = 3/4 or 1/4 (βg = ±log 3), c = 1"),
      symmetric_law({{1, Rational(1, 2), 0}}, one, "σ(βg) = 1/2 (g = 0), c = 1")};
  Random random(seed);
  for (int i = 0; i < draws; ++i) {
    laws.push_back(symmetric_law(
        draws_of(random), draws_of(random), fmt::format("seeded symmetric law {}", i)));
  }
  return laws;
}

std::vector<GateLaw> dependent_laws(std::uint64_t seed, int draws) {
  Random random(seed);
  std::vector<GateLaw> laws;
  laws.reserve(static_cast<std::size_t>(draws));
  for (int i = 0; i < draws; ++i) {
    laws.push_back(normalised(fmt::format("seeded law {}", i), draws_of(random)));
  }
  return laws;
}

std::vector<GateLaw> constant_laws() {
  const std::vector<GateAtom> one{{1, 0, 1}};
  return {symmetric_law({{1, Rational(1, 2), 0}}, one, "σ(βg) = 1/2 (g = 0), c = 1")};
}

Rational derived_growth(GradientPath path, const Rational& alpha, const GateLaw& law) {
  const Rational width = 1 + 2 * alpha, quarter(1, 4);
  Rational growth = width * width;
  if (path == GradientPath::kGate) return growth;
  return (quarter + growth * law.variance()) / (quarter + law.variance());
}

Verdict check_gradient_grows(GradientPath path, const std::vector<GateLaw>& laws) {
  Tally tally;
  const std::vector<Rational> ranges{0, {1, 4}, {1, 2}, 1, 5};
  for (const auto& law : laws) {
    Rational before = gradient_energy(path, ranges.front(), law);
    if (before == 0) continue;
    for (std::size_t i = 1; i < ranges.size(); ++i) {
      const Rational energy = gradient_energy(path, ranges[i], law);
      tally.sizes({{"outcomes", std::ssize(law.atoms)}});
      tally.record(energy > before, [&] {
        return Witness{fmt::format("{}: E[gradient²] through the {} is {} at α = {}, and {} at the "
                                   "range before",
                                   law.text,
                                   path == GradientPath::kGate ? "gate" : "value path",
                                   energy,
                                   ranges[i],
                                   before),
                       energy.to_double(),
                       before.to_double()};
      });
      before = energy;
    }
  }
  return tally.verdict("E[gradient²] at a range", "at the smaller range before", "exact");
}

Verdict check_gradient_growth(GradientPath path,
                              const GradientGrowth& says,
                              const std::vector<GateLaw>& laws) {
  const char* name = path == GradientPath::kGate ? "gate" : "value path";
  Tally tally;
  for (const auto& law : laws) {
    const Rational base = gradient_energy(path, 0, law);
    if (base == 0) continue;
    for (const Rational& alpha :
         {Rational(1, 4), Rational(1, 2), Rational(1), Rational(0), Rational(5)}) {
      const Rational energy = gradient_energy(path, alpha, law);
      tally.sizes({{"outcomes", std::ssize(law.atoms)}});
      tally.compare(energy / base, says(alpha, law), [&] {
        return fmt::format("{}, α = {}: E[gradient²] through the {} is {}, and {} at α = 0",
                           law.text,
                           alpha,
                           name,
                           energy,
                           base);
      });
    }
  }
  return tally.verdict("E[gradient²] over that at α = 0", "as stated", "exact");
}

}  // namespace kappascope::theory
