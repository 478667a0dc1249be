// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/offset_routes/gate_offset.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/require.h"
#include "theory/exact/linalg.h"
#include "theory/tools/conditions.h"
#include "theory/tools/draws.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kLayers = 1500, kLogistic = 300, kUnits = 2500;

GatedLayer single(Gate gate, int u, int g) {
  return {gate, rows({{u}}), rows({{g}}), column({0}), rows({{1}})};
}

InputOffset draw_offset(Gate gate, Index d_ff, Random& random) {
  const auto d = random.integer(1, 3), d_model = d_ff == 1 ? 1 : random.integer(1, 2);
  auto layer = without_bias(draw_layer(gate, d, d_ff, d_model, random));
  if (d_ff == 1) layer.down = Matrix<Rational>::ones(layer.down.rows(), layer.down.cols());
  Vector<Rational> offset = draw_vector(d, 2, random);
  if (random.integer(0, 3) == 0) {
    // An offset that the first unit, or one of its factors, does not see.
    const auto seen = below(layer.up.col(0).transpose(), layer.gates.col(0).transpose());
    const auto unseen = null_basis(seen.middle_rows(0, random.integer(1, 2)));
    if (unseen.cols() > 0) offset = unseen.col(0);
  }
  return {std::move(layer), std::move(offset)};
}

/// The value of D at all probes, or nothing; and two probes that tell.
struct Sameness {
  std::optional<Values> value;
  Vector<Rational> first, other;
};

Sameness sameness(const InputOffset& one) {
  const auto probes = one.probes();
  const auto value = one.change(probes.front());
  bool all_known = true;
  for (const auto& probe : probes) {
    const auto same = equal(one.change(probe), value, one.layer.gate);
    if (same == false) return {std::nullopt, probes.front(), probe};
    all_known = all_known && same.has_value();
  }
  require(all_known, "no two probes tell whether {} has one value", one);
  return {value, probes.front(), probes.back()};
}

Witness witness_of(const InputOffset& one, const Sameness& same, const std::string& stated) {
  const auto left = one.change(same.first), right = one.change(same.other);
  return {fmt::format("{}: Z(x + c) - Z(x) is {} at x = {} and {} at x = {}, {}",
                      one,
                      text(left, one.layer.gate),
                      same.first,
                      text(right, one.layer.gate),
                      same.other,
                      stated),
          norm(left, one.layer.gate),
          norm(right, one.layer.gate)};
}

}  // namespace

std::vector<Vector<Rational>> InputOffset::probes() const {
  if (inputs) return *inputs;
  const Index d = layer.d();
  std::vector<Vector<Rational>> points{Vector<Rational>::zero(d)};
  for (const int multiple : {1, -1, 2, -3}) points.push_back(multiple * offset);
  for (Index i = 0; i < d; ++i) {
    for (const int sign : {1, -1}) {
      points.push_back(sign * Vector<Rational>::unit(d, i));
      Vector<Rational> generic = Vector<Rational>::ones(d) * Rational(sign, 3);
      generic(i) = Rational(7 * sign, 2);
      points.push_back(std::move(generic));
    }
  }
  return points;
}

Values InputOffset::change(const Vector<Rational>& x) const {
  return layer(x + offset) - layer(x);
}

std::string InputOffset::text() const {
  return layer.text() + ", c = " + theory::text(offset);
}

std::vector<InputOffset> offsets_at_silent_gates(std::uint64_t seed) {
  std::vector<InputOffset> cases;
  for (const auto gate : {Gate::kBilinear, Gate::kRelu, Gate::kSilu, Gate::kGelu}) {
    cases.push_back({single(gate, 1, 1), column({1})});
    cases.push_back({single(gate, 1, 0), column({1})});
  }
  Random random(seed);
  for (int i = 0; i < kLayers; ++i) {
    const auto gate = random.pick<Gate>({Gate::kBilinear, Gate::kRelu, Gate::kSilu, Gate::kGelu});
    cases.push_back(draw_offset(gate, random.integer(1, 4), random));
  }
  return cases;
}

std::vector<InputOffset> offsets_at_logistic_gates(std::uint64_t seed) {
  std::vector<InputOffset> cases{{single(Gate::kLogistic, 1, 0), column({1})}};
  Random random(seed);
  for (int i = 0; i < kLogistic; ++i) {
    cases.push_back(draw_offset(Gate::kLogistic, random.integer(1, 3), random));
  }
  return cases;
}

std::vector<InputOffset> offsets_at_two_inputs() {
  const GatedLayer layer{
      Gate::kRelu, rows({{1, 1}}), rows({{1, -1}}), column({0, 0}), rows({{1}, {11}})};
  return {{layer, column({3}), std::vector<Vector<Rational>>{column({1}), column({-1})}}};
}

Verdict check_offset_survives(const OffsetSurvives& says, const std::vector<InputOffset>& cases) {
  Tally tally;
  for (const auto& one : cases) {
    const auto same = sameness(one);
    const bool survives =
        same.value && std::any_of(same.value->begin(), same.value->end(), [](const auto& entry) {
          return !(entry == FormalSum());
        });
    tally.sizes({{"d", one.layer.d()}, {"d_ff", one.layer.d_ff()}});
    tally.record(survives == says(one), [&] {
      return witness_of(one, same, survives ? "a constant" : "no constant but zero");
    });
  }
  return tally.verdict("‖Z(x + c) - Z(x)‖ at one x", "at another x", "exact");
}

std::optional<Rational> unit_change(const InputOffset& one) {
  const Vector<Rational> u = one.layer.up.col(0), g = one.layer.gates.col(0);
  const Rational seen_by_u = u.dot(one.offset), seen_by_g = g.dot(one.offset);
  if (is_zero(u) || (seen_by_u == 0 && seen_by_g == 0)) return 0;
  if (!is_zero(g)) return std::nullopt;
  return one.layer.gate == Gate::kLogistic ? seen_by_u / 2 : Rational(0);
}

Verdict check_unit_change(const UnitChange& states, std::uint64_t seed) {
  Tally tally;
  BothSides sides;
  Random random(seed);
  std::vector<InputOffset> cases;
  for (const auto gate :
       {Gate::kBilinear, Gate::kRelu, Gate::kSilu, Gate::kGelu, Gate::kLogistic}) {
    for (const int g : {1, 0}) cases.push_back({single(gate, 1, g), column({1})});
  }
  for (int i = 0; i < kUnits; ++i) {
    const auto gate = random.pick<Gate>(
        {Gate::kBilinear, Gate::kRelu, Gate::kSilu, Gate::kGelu, Gate::kLogistic});
    cases.push_back(draw_offset(gate, 1, random));
  }
  for (const auto& one : cases) {
    const auto same = sameness(one);
    const auto stated = states(one);
    sides.see(same.value.has_value());
    const bool agrees = same.value.has_value() == stated.has_value() &&
                        (!stated || same.value->front() == FormalSum(*stated));
    tally.sizes({{"d", one.layer.d()}, {"d_ff", one.layer.d_ff()}});
    tally.record(agrees, [&] {
      return witness_of(
          one, same, stated ? "stated: " + stated->text() : std::string("stated: no constant"));
    });
  }
  return sides.demand(tally.verdict("S_j(x + c) - S_j(x) at one x", "at another x", "exact"));
}

}  // namespace kappascope::theory
