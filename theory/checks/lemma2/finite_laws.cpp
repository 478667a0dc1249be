// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/lemma2/finite_laws.h"

#include <fmt/format.h>

#include <utility>

#include "theory/tools/random.h"

namespace kappascope::theory {
namespace {

struct Mass {
  Rational weight, value;
};
using Marginal = std::vector<Mass>;

std::string text(const char* name, const Marginal& marginal) {
  if (marginal.size() == 1) return fmt::format("{} = {}", name, marginal[0].value);
  Rational total = 0;
  for (const auto& mass : marginal) total += mass.weight;
  std::string values, weights;
  for (const auto& mass : marginal) {
    values += (values.empty() ? "" : ", ") + mass.value.text();
    weights += (weights.empty() ? "" : ", ") + (mass.weight / total).text();
  }
  return fmt::format("{} in {{{}}} with probabilities {{{}}}", name, values, weights);
}

FiniteLaw independent_law(const Rational& keep, const Marginal& feature, const Marginal& gradient) {
  std::vector<Atom> atoms;
  for (const bool kept : {true, false}) {
    const Rational mask = kept ? keep : 1 - keep;
    if (mask == 0) continue;
    for (const auto& s : feature) {
      for (const auto& r : gradient) {
        atoms.push_back({mask * s.weight * r.weight, kept, s.value, r.value});
      }
    }
  }
  return {
      fmt::format("p = {}, {}, {}, all independent", keep, text("S", feature), text("r", gradient)),
      std::move(atoms)};
}

const std::vector<Rational>& keeps() {
  static const std::vector<Rational> values{1, {1, 2}, {1, 4}};
  return values;
}

/// In order of size: the first that refutes becomes the witness.
const std::vector<Marginal>& features() {
  static const std::vector<Marginal> values{{{1, 0}},
                                            {{1, 2}},
                                            {{1, -1}, {1, 1}},
                                            {{1, 0}, {1, 2}},
                                            {{3, 0}, {1, 4}},
                                            {{1, -2}, {2, 0}, {1, 3}}};
  return values;
}

const std::vector<Marginal>& gradients() {
  static const std::vector<Marginal> values{{{1, -1}, {1, 1}}, {{2, -1}, {1, 2}}};
  return values;
}

Marginal draw_marginal(Random& random) {
  Marginal marginal(static_cast<std::size_t>(random.integer(1, 3)));
  for (auto& mass : marginal) mass = {random.integer(1, 4), random.integer(-4, 4)};
  return marginal;
}

/// Moves r so that E r = 0.
void centre(std::vector<Atom>& atoms) {
  Rational total = 0, sum = 0;
  for (const auto& atom : atoms) {
    total += atom.weight;
    sum += atom.weight * atom.gradient;
  }
  for (auto& atom : atoms) atom.gradient -= sum / total;
}

std::vector<Atom> draw_atoms(Random& random) {
  std::vector<Atom> atoms(static_cast<std::size_t>(random.integer(2, 6)));
  for (auto& atom : atoms) {
    atom = {random.integer(1, 4),
            random.integer(0, 2) > 0,
            random.integer(-4, 4),
            random.integer(-4, 4)};
  }
  atoms.front().kept = true;
  return atoms;
}

/// Crosses outcomes of (S, r) with an independent mask.
std::vector<Atom> with_mask(const std::vector<Atom>& atoms, const Rational& keep) {
  std::vector<Atom> crossed;
  for (auto atom : atoms) {
    const Rational weight = atom.weight;
    atom.kept = true;
    atom.weight = weight * keep;
    crossed.push_back(atom);
    if (keep == 1) continue;
    atom.kept = false;
    atom.weight = weight * (1 - keep);
    crossed.push_back(atom);
  }
  return crossed;
}

/// Crosses outcomes of (M, S) with an independent r.
std::vector<Atom> with_gradient(const std::vector<Atom>& atoms, const Marginal& gradient) {
  std::vector<Atom> crossed;
  for (const auto& atom : atoms) {
    for (const auto& r : gradient) {
      crossed.push_back({atom.weight * r.weight, atom.kept, atom.feature, r.value});
    }
  }
  return crossed;
}

}  // namespace

const char* to_string(const Dropout& dropout) {
  const bool plain = dropout.scaling == Scaling::kPlain;
  if (dropout.placement == Placement::kBeforeBias) {
    return plain ? "mask {0, 1}, y = MS + b" : "mask {0, 1/p}, y = MS + b";
  }
  return plain ? "mask {0, 1}, y = M(S + b)" : "mask {0, 1/p}, y = M(S + b)";
}

FiniteLaw::FiniteLaw(std::string text, std::vector<Atom> atoms)
    : text_(std::move(text)), atoms_(std::move(atoms)) {
  Rational total = 0;
  for (const auto& atom : atoms_) total += atom.weight;
  for (auto& atom : atoms_) atom.weight /= total;
}

Rational FiniteLaw::keep() const {
  return expectation([](const Atom& atom) { return Rational(atom.kept ? 1 : 0); });
}
Rational FiniteLaw::mean() const {
  return expectation([](const Atom& atom) { return atom.feature; });
}
Rational FiniteLaw::variance() const {
  const Rational centre = mean();
  return expectation(
      [&](const Atom& atom) { return (atom.feature - centre) * (atom.feature - centre); });
}
Rational FiniteLaw::r2() const {
  return expectation([](const Atom& atom) { return atom.gradient * atom.gradient; });
}

Rational regressor(const Atom& atom, const Rational& b, const Rational& keep, Dropout dropout) {
  const bool before = dropout.placement == Placement::kBeforeBias;
  if (!atom.kept) return before ? b : Rational(0);
  const Rational mask = dropout.scaling == Scaling::kPlain ? Rational(1) : 1 / keep;
  return before ? mask * atom.feature + b : mask * (atom.feature + b);
}

std::vector<FiniteLaw> independent_laws(std::uint64_t seed, int draws) {
  std::vector<FiniteLaw> laws;
  for (const auto& gradient : gradients()) {
    for (const auto& feature : features()) {
      for (const auto& keep : keeps()) laws.push_back(independent_law(keep, feature, gradient));
    }
  }
  Random random(seed);
  while (static_cast<int>(laws.size()) < draws) {
    const Rational keep(random.integer(1, 10), std::int64_t{10});
    laws.push_back(independent_law(keep, draw_marginal(random), random.pick(gradients())));
  }
  return laws;
}

std::vector<FiniteLaw> laws_without_gradient() {
  std::vector<FiniteLaw> laws;
  for (const auto& feature : features()) {
    for (const auto& keep : keeps()) laws.push_back(independent_law(keep, feature, {{1, 0}}));
  }
  return laws;
}

std::vector<FiniteLaw> printed_laws(std::uint64_t seed, int draws) {
  const std::vector<Atom> equal{{1, true, 1, 1}, {1, true, -1, -1}};
  std::vector<FiniteLaw> laws;
  laws.emplace_back("p = 1, S = r = 1 or S = r = -1, each with probability 1/2", equal);
  laws.emplace_back("p = 1/2, S = r = 1 or S = r = -1, each with probability 1/2, M independent",
                    with_mask(equal, {1, 2}));
  laws.emplace_back(
      "p = 1/2, (S, r) in {(0, 0), (1, 1), (1, -1)} with probabilities {1/2, 1/4, "
      "1/4}, M independent",
      with_mask({{2, true, 0, 0}, {1, true, 1, 1}, {1, true, 1, -1}}, {1, 2}));
  laws.emplace_back(
      "S = 1 or S = -1 with probability 1/2, M = 1 exactly when S = 1, r = ±1 "
      "independent of both",
      with_gradient({{1, true, 1, 0}, {1, false, -1, 0}}, {{1, -1}, {1, 1}}));
  Random random(seed);
  while (static_cast<int>(laws.size()) < draws) {
    auto atoms = draw_atoms(random);
    if (laws.size() % 4 == 3) {
      laws.emplace_back("r independent of (M, S)", with_gradient(atoms, random.pick(gradients())));
      continue;
    }
    centre(atoms);
    laws.emplace_back("M independent of (S, r)",
                      with_mask(atoms, {random.integer(1, 10), std::int64_t{10}}));
  }
  return laws;
}

std::vector<FiniteLaw> arbitrary_laws(std::uint64_t seed, int draws) {
  auto laws = printed_laws(seed, draws / 4);
  Random random(seed + 1);
  while (static_cast<int>(laws.size()) < draws) {
    laws.emplace_back("arbitrary", draw_atoms(random));
  }
  return laws;
}

}  // namespace kappascope::theory
