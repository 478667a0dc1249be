// SPDX-License-Identifier: Apache-2.0
#include "lab/theory/twins/twins.h"
#include "theory/checks/offset_routes/attention_offset.h"
#include "theory/checks/offset_routes/bias_classes.h"
#include "theory/checks/offset_routes/boundaries.h"
#include "theory/checks/offset_routes/constant_makers.h"
#include "theory/checks/offset_routes/gate_offset.h"
#include "theory/checks/offset_routes/norm_offset.h"

namespace kappascope::theory {
namespace {

constexpr auto kSeed = kTwinSeed;

/// Only half of each mirrored pair: Σ x_j act(x_j).
GatedLayer one_sided_units(Gate gate, const Vector<Rational>& target, Index d) {
  auto layer = mirrored_units(gate, target, d);
  layer.down.middle_rows(layer.down.rows() - d, d).set_zero();
  return layer;
}

/// Counts units and does not look at them.
std::optional<bool> enough_units(const GatedLayer& units) {
  return units.d_ff() >= 2 * units.d();
}

/// The dead unit, but with b = 2.
GatedLayer twice_the_bias(const OutputBias& one) {
  auto layer = one_more_unit(one);
  layer.bias *= 2;
  return layer;
}

Twins attention_twins() {
  return {
      {"P-ATTa",
       {[] { return check_transmitted(one_copy_a_row, plain_attention(kSeed)); },
        [] { return check_transmitted(one_copy_a_row, altered_attention(kSeed)); }}},
      {"P-ATTa'",
       {[] { return check_transmitted(row_sums_of_weights, altered_attention(kSeed)); },
        [] {
          return check_transmitted(
              [](const AttentionCase& one) -> Matrix<Rational> {
                const Index tokens = one.dropout.cols();
                return one.dropout * Vector<Rational>::ones(tokens) / Rational(tokens) *
                       one.offset.transpose();
              },
              altered_attention(kSeed));
        }}},
      {"P-ATTb",
       {[] { return check_reconstruction(reconstructs, output_routes(kSeed)); },
        [] { return check_reconstruction(always_reconstructs, output_routes(kSeed)); }}},
      {"P-ATTb'",
       {[] { return check_reconstruction(reconstructs, output_routes(kSeed)); },
        [] {
          return check_reconstruction([](const OutputRoute& route) { return route.keep == 1; },
                                      output_routes(kSeed));
        }}},
      {"P-ATTb', noise",
       {[] { return check_row_sum(inverted_row_sum, output_routes(kSeed)); },
        [] {
          return check_row_sum(
              [](const Vector<Rational>& row, const Rational& keep) {
                return RowSumMoments{1, keep * (1 - keep) * row.dot(row)};
              },
              output_routes(kSeed));
        }}},
  };
}

Twins gate_twins() {
  const auto never = [](const InputOffset&) { return false; };
  const auto only_without_gate = [](const InputOffset& one) {
    return one.layer.gates == Matrix<Rational>::zero(one.layer.d(), 1) ? std::optional(Rational(0))
                                                                       : std::nullopt;
  };
  return {
      {"P-GATE",
       {[=] { return check_offset_survives(never, offsets_at_silent_gates(kSeed)); },
        [=] { return check_offset_survives(never, offsets_at_logistic_gates(kSeed)); }}},
      {"P-GATE, few inputs",
       {[] {
          return check_offset_survives([](const InputOffset&) { return true; },
                                       offsets_at_two_inputs());
        },
        [=] { return check_offset_survives(never, offsets_at_two_inputs()); }}},
      {"P-GATE'",
       {[] { return check_unit_change(unit_change, kSeed); },
        [=] { return check_unit_change(only_without_gate, kSeed); }}},
      {"P-DIM",
       {[] { return check_constant_makers(balanced, kSeed); },
        [] { return check_constant_makers(no_constant, kSeed); }}},
      {"P-DIM'",
       {[] { return check_constant_makers(balanced, kSeed); },
        [] { return check_constant_makers(enough_units, kSeed); }}},
      {"P-DIM', the units",
       {[] { return check_constant_builder(mirrored_units, kSeed); },
        [] { return check_constant_builder(one_sided_units, kSeed); }}},
      {"P-EXP",
       {[] { return check_replaceable(replaceable, kSeed); },
        [] { return check_replaceable(always_replaceable, kSeed); }}},
      {"P-EXP'",
       {[] { return check_constant_makers(too_few_units, kSeed); },
        [] {
          return check_constant_makers(
              [](const GatedLayer& units) {
                return units.d_ff() <= 2 * units.d() ? std::optional(false) : std::nullopt;
              },
              kSeed);
        }}},
  };
}

Twins bias_twins() {
  return {
      {"P-OUT",
       {[] { return check_absorbed(absorbs, output_biases(kSeed)); },
        [] { return check_absorbed(absorbs_always, output_biases(kSeed)); }}},
      {"P-OUT'",
       {[] { return check_absorbs_all(full_row_space, kSeed); },
        [] {
          return check_absorbs_all(
              [](const Matrix<Rational>& down) { return down.rows() >= down.cols(); }, kSeed);
        }}},
      {"P-OUT', one unit more",
       {[] { return check_output_bias_builder(one_more_unit, kSeed); },
        [] { return check_output_bias_builder(twice_the_bias, kSeed); }}},
      {"P-NORM",
       {[] { return check_norm_offset(fate, kSeed); },
        [] { return check_norm_offset(carried, kSeed); }}},
      {"P-NORM'",
       {[] { return check_norm_offset(fate, kSeed); },
        [] {
          return check_norm_offset(
              [](const NormOffset& one) {
                return one.kind == NormKind::kLayerNorm ? Fate::kRemoved : fate(one);
              },
              kSeed);
        }}},
      {"P-NORM', own constant",
       {[] {
          return check_own_constant([](NormKind kind) { return kind == NormKind::kLayerNorm; });
        },
        [] { return check_own_constant([](NormKind) { return true; }); }}},
      {"P-BND",
       {[] { return check_boundary_moves(boundary_moves, Place::kOwn, kSeed); },
        [] { return check_boundary_moves(moves_with_bias, Place::kOwn, kSeed); }}},
      {"P-BND'",
       {[] { return check_boundary_shift(boundary_shift, kSeed); },
        [] {
          return check_boundary_shift(
              [](const TwoLayers& one, Place place) -> Vector<Rational> {
                return 2 * boundary_shift(one, place);
              },
              kSeed);
        }}},
      {"P-BND', when they move",
       {[] { return check_boundary_moves(boundary_moves, Place::kNext, kSeed); },
        [] { return check_boundary_moves(moves_with_bias, Place::kNext, kSeed); }}},
  };
}

}  // namespace

Twins offset_routes_twins() {
  auto twins = attention_twins();
  twins.merge(gate_twins());
  twins.merge(bias_twins());
  return twins;
}

}  // namespace kappascope::theory
