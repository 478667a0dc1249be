// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/offset_routes/bias_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "theory/checks/offset_routes/constant_makers.h"
#include "theory/exact/linalg.h"
#include "theory/tools/conditions.h"
#include "theory/tools/draws.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kRemovals = 2000, kOutputs = 2500;
const std::vector<Gate>& gates() {
  static const std::vector<Gate> all{Gate::kRelu, Gate::kSilu};
  return all;
}

GatedLayer single(int bias, const Matrix<Rational>& down) {
  return {Gate::kSilu, rows({{1}}), rows({{1}}), column({bias}), down};
}

Vector<Rational> made_by_bias(const GatedLayer& layer) {
  return layer.down.transpose() * layer.bias;
}

std::vector<Vector<Rational>> some_inputs(Index d) {
  std::vector<Vector<Rational>> inputs{Vector<Rational>::zero(d)};
  for (Index i = 0; i < d; ++i) {
    inputs.push_back(Vector<Rational>::unit(d, i));
    inputs.push_back(Vector<Rational>::ones(d) * Rational(Index{-1}, i + 2));
  }
  return inputs;
}

/// The values that differ first, left(x) and right(x) + c.
struct Difference {
  Vector<Rational> x;
  Values left, right;
};
std::optional<Difference> difference(const GatedLayer& left,
                                     const GatedLayer& right,
                                     const Vector<Rational>& c,
                                     const std::vector<Vector<Rational>>& inputs) {
  for (const auto& x : inputs) {
    auto a = left(x), b = right(x);
    for (std::size_t k = 0; k < b.size(); ++k) b[k] += c(static_cast<Index>(k));
    if (a != b) return Difference{x, std::move(a), std::move(b)};
  }
  return std::nullopt;
}

/// The bias-free layer that could replace this one: its own units, on normalised inputs beside
/// those that make bW_d.
GatedLayer candidate(const BiasRemoval& one) {
  auto bare = without_bias(one.layer);
  if (!one.normalised) return bare;
  return beside(bare, mirrored_units(bare.gate, made_by_bias(one.layer), bare.d()));
}

bool is_replaced(const BiasRemoval& one, Random& random) {
  const auto d = one.layer.d();
  const auto inputs = one.normalised ? normalised_points(d, 6, random) : some_inputs(d);
  const auto replacement = candidate(one);
  const Vector<Rational> none = Vector<Rational>::zero(one.layer.d_model());
  return replacement.d_ff() <= one.layer.d_ff() + one.extra &&
         !difference(one.layer, replacement, none, inputs);
}

std::optional<Matrix<Rational>> solved_for_bias(const OutputBias& one) {
  return solve(one.layer.down.transpose(), one.c);
}

}  // namespace

std::string BiasRemoval::text() const {
  return fmt::format("{}, {}{}",
                     layer,
                     normalised ? "‖x‖² = d" : "x in R^d",
                     extra > 0 ? fmt::format(", {} units more", extra) : std::string());
}

std::vector<BiasRemoval> bias_removals(std::uint64_t seed) {
  const auto one = rows({{1}});
  std::vector<BiasRemoval> cases{
      {single(0, one)}, {single(1, one)}, {single(1, one), false, 100}, {single(1, one), true, 2}};
  Random random(seed);
  for (int i = 0; i < kRemovals; ++i) {
    const auto d = random.integer(1, 3);
    auto layer =
        draw_layer(random.pick(gates()), d, random.integer(1, 3), random.integer(1, 2), random);
    if (random.integer(0, 3) == 0) {
      const auto silent = null_basis(layer.down.transpose());
      layer.bias.set_zero();
      if (silent.cols() > 0) layer.bias = silent.col(0);
    }
    const bool normalised = random.integer(0, 2) == 0;
    const auto extra = normalised ? 2 * d : random.integer(0, 5);
    cases.push_back({std::move(layer), normalised, extra});
  }
  return cases;
}

bool always_replaceable(const BiasRemoval& /*one*/) {
  return true;
}

bool replaceable(const BiasRemoval& one) {
  return one.normalised || is_zero(made_by_bias(one.layer));
}

Verdict check_replaceable(const Replaceable& says, std::uint64_t seed) {
  Tally tally;
  BothSides sides;
  Random random(seed);
  for (const auto& one : bias_removals(seed)) {
    const bool replaced = is_replaced(one, random);
    sides.see(replaced);
    tally.sizes({{"d", one.layer.d()},
                 {"d_ff", one.layer.d_ff()},
                 {"d_model", one.layer.d_model()},
                 {"units more", one.extra}});
    tally.record(replaced == says(one), [&] {
      const Vector<Rational> zero = Vector<Rational>::zero(one.layer.d());
      const auto with = one.layer(zero), without = without_bias(one.layer)(zero);
      return Witness{
          fmt::format("{}: Z(0) = {}, and {} in a layer without b", one, text(with), text(without)),
          norm(with),
          norm(without)};
    });
  }
  return sides.demand(tally.verdict("‖Z(0)‖ with b", "‖Z(0)‖ without b", "exact"));
}

std::string OutputBias::text() const {
  return fmt::format("W_d = {}, c = {}", layer.down, c);
}

std::vector<OutputBias> output_biases(std::uint64_t seed) {
  std::vector<OutputBias> cases{{single(0, rows({{1}})), column({1})},
                                {single(0, rows({{0}})), column({1})},
                                {single(0, rows({{1, 0}})), column({1, 0})},
                                {single(0, rows({{1, 0}})), column({0, 1})}};
  Random random(seed);
  for (int i = 0; i < kOutputs; ++i) {
    const auto d_ff = random.integer(1, 4), d_model = random.integer(1, 4);
    auto layer =
        without_bias(draw_layer(random.pick(gates()), random.integer(1, 2), d_ff, d_model, random));
    if (random.integer(0, 4) == 0) layer.down.col(d_model - 1) = layer.down.col(0);
    Vector<Rational> c = draw_vector(d_model, 2, random);
    if (random.integer(0, 2) == 0) c = layer.down.transpose() * draw_vector(d_ff, 2, random);
    cases.push_back({std::move(layer), std::move(c)});
  }
  return cases;
}

bool absorbs(const OutputBias& one) {
  return is_zero(null_basis(one.layer.down).transpose() * one.c);
}

bool absorbs_always(const OutputBias& /*one*/) {
  return true;
}

Verdict check_absorbed(const Absorbs& says, const std::vector<OutputBias>& cases) {
  Tally tally;
  for (const auto& one : cases) {
    const auto bias = solved_for_bias(one);
    auto with = one.layer;
    if (bias) with.bias = bias->col(0);
    const bool same = bias && !difference(with, one.layer, one.c, some_inputs(one.layer.d()));
    tally.sizes({{"d_ff", one.layer.d_ff()}, {"d_model", one.layer.d_model()}});
    tally.record(same == says(one), [&] {
      return Witness{
          fmt::format(
              "{}: {}", one, same ? "bW_d = c for b = " + text(*bias) : "no b has bW_d = c"),
          same ? 1.0 : 0.0,
          says(one) ? 1.0 : 0.0};
    });
  }
  return tally.verdict("a b exists (1) or not (0)", "as stated", "exact");
}

bool full_row_space(const Matrix<Rational>& down) {
  return rank(down) == down.cols();
}

Verdict check_absorbs_all(const AbsorbsAll& says, std::uint64_t seed) {
  Tally tally;
  BothSides sides;
  for (const auto& one : output_biases(seed)) {
    const auto& down = one.layer.down;
    const bool all = solve(down.transpose(), Matrix<Rational>::identity(down.cols())).has_value();
    sides.see(all);
    tally.sizes({{"d_ff", down.rows()}, {"d_model", down.cols()}});
    tally.record(all == says(down), [&] {
      return Witness{fmt::format("W_d = {}: {} c has a b", down, all ? "every" : "not every"),
                     all ? 1.0 : 0.0,
                     says(down) ? 1.0 : 0.0};
    });
  }
  return sides.demand(tally.verdict("every c has a b (1) or not (0)", "as stated", "exact"));
}

GatedLayer one_more_unit(const OutputBias& one) {
  const Matrix<Rational> silent = Matrix<Rational>::zero(one.layer.d(), 1);
  return beside(one.layer,
                {one.layer.gate, silent, silent, column({1}), Matrix<Rational>(one.c.transpose())});
}

Verdict check_output_bias_builder(const OutputBiasBuilder& build, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : output_biases(seed)) {
    const auto built = build(one);
    const auto differs = difference(built, one.layer, one.c, some_inputs(one.layer.d()));
    tally.sizes({{"d_ff", one.layer.d_ff()}, {"d_model", one.layer.d_model()}});
    tally.record(!differs, [&] {
      const auto shown = differs.value_or(Difference{column({0}), {}, {}});
      return Witness{fmt::format("{}: {} at x = {}, SW_d + c is {}",
                                 built,
                                 text(shown.left),
                                 shown.x,
                                 text(shown.right)),
                     norm(shown.left),
                     norm(shown.right)};
    });
  }
  return tally.verdict("(S + b)W_d", "SW_d + c", "exact");
}

}  // namespace kappascope::theory
