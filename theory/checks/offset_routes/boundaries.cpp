// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/offset_routes/boundaries.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "theory/exact/linalg.h"
#include "theory/tools/conditions.h"
#include "theory/tools/draws.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kPairs = 2500;

std::vector<TwoLayers> layer_pairs(std::uint64_t seed) {
  const auto one = rows({{1}});
  const auto single = [&](int bias) {
    return GatedLayer{Gate::kSilu, one, one, column({bias}), one};
  };
  std::vector<TwoLayers> pairs{{single(1), one}, {single(0), one}, {single(1), rows({{0}})}};
  Random random(seed);
  for (int i = 0; i < kPairs; ++i) {
    const auto gate = random.pick<Gate>({Gate::kRelu, Gate::kSilu, Gate::kBilinear});
    const auto d_model = random.integer(1, 3);
    auto first = draw_layer(gate, random.integer(1, 3), random.integer(1, 3), d_model, random);
    if (random.integer(0, 4) == 0) first.bias.set_zero();
    pairs.push_back({std::move(first), draw_matrix(d_model, random.integer(1, 2), 2, random)});
  }
  return pairs;
}

/// The pre-activations of the gates, G = xW_g or G' = ZW_g'.
Values pre_activations(const TwoLayers& pair, Place place, const Vector<Rational>& x) {
  Values values;
  if (place == Place::kOwn) {
    for (const auto& g : pair.first.gates.transpose() * x) values.emplace_back(g);
    return values;
  }
  const auto z = pair.first(x);
  for (Index j = 0; j < pair.next.cols(); ++j) {
    FormalSum sum;
    for (std::size_t k = 0; k < z.size(); ++k) sum += pair.next(static_cast<Index>(k), j) * z[k];
    values.push_back(std::move(sum));
  }
  return values;
}

/// What b adds at x; constant in x, which check_boundary_shift() looks at.
Values added(const TwoLayers& pair, Place place, const Vector<Rational>& x) {
  const TwoLayers without{without_bias(pair.first), pair.next};
  return pre_activations(pair, place, x) - pre_activations(without, place, x);
}

GatedLayer draw_relu(Index d, Index d_model, Random& random) {
  return draw_layer(Gate::kRelu, d, random.integer(1, 3), d_model, random);
}

std::vector<Perturbation> drawn_perturbations(std::uint64_t seed) {
  constexpr int kDraws = 1500;
  Random random(seed);
  std::vector<Perturbation> drawn;
  for (int i = 0; i < kDraws; ++i) {
    const auto d = random.integer(1, 2), middle = random.integer(1, 2);
    Perturbation one{draw_relu(d, middle, random),
                     without_bias(draw_relu(middle, 1, random)),
                     draw_vector(d, 2, random),
                     draw_vector(d, 2, random),
                     0,
                     0};
    drawn.push_back(std::move(one));
  }
  return drawn;
}

/// The output of ReLU layers, which is a fraction.
Vector<Rational> output(const GatedLayer& layer, const Vector<Rational>& x) {
  const auto values = layer(x);
  Vector<Rational> out(static_cast<Index>(values.size()));
  for (Index k = 0; k < out.size(); ++k) {
    for (const auto& [symbol, coefficient] : values[static_cast<std::size_t>(k)].terms()) {
      out(k) += coefficient;
    }
  }
  return out;
}

Rational size(const Vector<Rational>& change) {
  Rational sum = 0;
  for (const auto& entry : change) sum += entry < 0 ? -entry : entry;
  return sum;
}

Rational own_change(const Perturbation& one, const GatedLayer& first) {
  return size(output(first, one.to) - output(first, one.from));
}

Rational next_change(const Perturbation& one, const GatedLayer& first) {
  return size(output(one.second, output(first, one.to)) -
              output(one.second, output(first, one.from)));
}

std::string place_text(Place place) {
  return place == Place::kOwn ? "its own gates" : "the next layer's gates";
}

}  // namespace

std::string TwoLayers::text() const {
  return fmt::format("{}, W_g' = {}", first, next);
}

Vector<Rational> boundary_shift(const TwoLayers& one, Place place) {
  if (place == Place::kOwn) return Vector<Rational>::zero(one.first.d_ff());
  return (one.first.down * one.next).transpose() * one.first.bias;
}

Verdict check_boundary_shift(const BoundaryShift& states, std::uint64_t seed) {
  Tally tally;
  for (const auto& pair : layer_pairs(seed)) {
    for (const auto place : {Place::kOwn, Place::kNext}) {
      const auto stated = states(pair, place);
      for (const int at : {0, 1, -2}) {
        const Vector<Rational> x = Vector<Rational>::ones(pair.first.d()) * at;
        const auto actual = added(pair, place, x);
        bool agrees = stated.size() == static_cast<Index>(actual.size());
        for (Index k = 0; agrees && k < stated.size(); ++k) {
          agrees = actual[static_cast<std::size_t>(k)] == FormalSum(stated(k));
        }
        tally.sizes({{"d", pair.first.d()},
                     {"d_ff", pair.first.d_ff()},
                     {"d_model", pair.first.d_model()}});
        tally.record(agrees, [&] {
          return Witness{fmt::format("{}: at x = {} b adds {} to {}, stated is {}",
                                     pair,
                                     x,
                                     text(actual),
                                     place_text(place),
                                     stated),
                         norm(actual),
                         to_double(stated).norm()};
        });
      }
    }
  }
  return tally.verdict("what b adds to the pre-activations (norm)", "as stated", "exact");
}

bool moves_with_bias(const TwoLayers& one, Place /*place*/) {
  return one.first.bias != Vector<Rational>::zero(one.first.d_ff());
}

bool boundary_moves(const TwoLayers& one, Place place) {
  const auto shift = boundary_shift(one, place);
  return shift != Vector<Rational>::zero(shift.size());
}

Verdict check_boundary_moves(const BoundaryMoves& says, Place place, std::uint64_t seed) {
  Tally tally;
  BothSides sides;
  for (const auto& pair : layer_pairs(seed)) {
    const auto actual = added(pair, place, Vector<Rational>::ones(pair.first.d()));
    const bool moves = std::any_of(
        actual.begin(), actual.end(), [](const auto& entry) { return !(entry == FormalSum()); });
    sides.see(moves);
    tally.sizes(
        {{"d", pair.first.d()}, {"d_ff", pair.first.d_ff()}, {"d_model", pair.first.d_model()}});
    tally.record(moves == says(pair, place), [&] {
      return Witness{fmt::format("{}: b adds {} to {}", pair, text(actual), place_text(place)),
                     norm(actual),
                     to_double(pair.first.bias).norm()};
    });
  }
  const auto verdict = tally.verdict("what b adds to the pre-activations (norm)", "‖b‖", "exact");
  return place == Place::kNext ? sides.demand(verdict) : verdict;
}

std::string Perturbation::text() const {
  return fmt::format("{}; then {}; x from {} to {}", first, second, from, to);
}

Verdict check_own_change(const OwnChange& says, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : drawn_perturbations(seed)) {
    const Rational without = own_change(one, without_bias(one.first));
    tally.sizes({{"d", one.first.d()}, {"d_ff", one.first.d_ff()}});
    tally.compare(own_change(one, one.first), says(without), [&] {
      return fmt::format("{}: without b the output changes by {}", one, without);
    });
  }
  return tally.verdict("|change| of the layer's own output", "as stated", "exact");
}

std::vector<Perturbation> perturbations() {
  const auto one = rows({{1}});
  const GatedLayer plain{Gate::kRelu, one, one, column({0}), one};
  auto raised = plain, lowered = plain;
  raised.bias = column({1});
  lowered.bias = column({-1});
  return {{raised, plain, column({1}), column({2}), 21, 15},
          {lowered, plain, column({1}), column({2}), 9, 15}};
}

Verdict check_perturbations(const std::vector<Perturbation>& says) {
  Tally tally;
  for (const auto& one : says) {
    const Rational with = next_change(one, one.first);
    const Rational without = next_change(one, without_bias(one.first));
    tally.sizes({{"d", one.first.d()}, {"d_ff", one.first.d_ff()}});
    tally.record(with == one.with && without == one.without, [&] {
      return Witness{fmt::format("{}: {} with b and {} without", one, with, without),
                     with.to_double(),
                     one.with.to_double()};
    });
  }
  return tally.verdict("|change| of the next output with b", "as stated", "exact");
}

Verdict check_softens(const Softens& says, std::uint64_t seed) {
  Tally tally;
  auto cases = perturbations();
  for (auto& one : drawn_perturbations(seed)) cases.push_back(std::move(one));
  for (const auto& one : cases) {
    const Rational with = next_change(one, one.first);
    const Rational without = next_change(one, without_bias(one.first));
    const auto stated = says(one);
    if (!stated) continue;
    tally.sizes({{"d", one.first.d()}, {"d_ff", one.first.d_ff()}});
    tally.record((with <= without) == *stated, [&] {
      return Witness{
          fmt::format("{}: the output changes by {} with b and by {} without", one, with, without),
          with.to_double(),
          without.to_double()};
    });
  }
  return tally.verdict("|change| with b", "without b", "exact");
}

}  // namespace kappascope::theory
