// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/bias_redundancy/input_bias.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "theory/exact/linalg.h"
#include "theory/tools/draws.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

bool has_zero(const Vector<Rational>& values) {
  return std::find(values.begin(), values.end(), Rational(0)) != values.end();
}

/// u with X u = 1.
std::optional<Matrix<Rational>> constant_functional(const Matrix<Rational>& inputs) {
  return solve(inputs, Vector<Rational>::ones(inputs.rows()));
}

/// x - x₀ for every input but the first, in the rows.
Matrix<Rational> differences(const Matrix<Rational>& inputs) {
  return inputs.middle_rows(1, inputs.rows() - 1).plus_row(-inputs.row(0));
}

/// Whether any B solves the system of check_query_bias; B's entries row-major.
bool scores_without_bias_exist(const QueryCase& one) {
  const Index m = one.inputs.rows(), width = one.inputs.cols();
  const Matrix<Rational> steps = differences(one.inputs);
  const Vector<Rational> slope = one.key * one.bias;
  Matrix<Rational> system(m * steps.rows(), width * width), right(system.rows(), 1);
  for (Index n = 0; n < m; ++n) {
    for (Index i = 0; i < steps.rows(); ++i) {
      const Index row = n * steps.rows() + i;
      for (Index j = 0; j < width; ++j) {
        system.block(row, j * width, 1, width) = one.inputs(n, j) * steps.row(i);
      }
      right(row, 0) = steps.row(i).dot(slope);
    }
  }
  return solve(system, right).has_value();
}

AttentionBlock<Rational> attention_of(const QueryCase& one) {
  const Index d = one.query.cols();
  AttentionBlock<Rational> block;
  block.query = one.query;
  block.key = one.key;
  block.value = Matrix<Rational>::zero(one.inputs.cols(), d);
  block.output = Matrix<Rational>::zero(d, 1);
  block.query_bias = one.bias;
  return block;
}

/// W_Q + u b_Qᵀ, or W_Q where b_Q drops out by itself: P stays, to the last digit.
bool replacement_works(const QueryCase& one) {
  const auto before = attention_of(one);
  auto after = before;
  after.query_bias = {};
  if (const auto u = constant_functional(one.inputs)) after.query += *u * one.bias.transpose();
  return attention_weights(before, one.inputs, 0) == attention_weights(after, one.inputs, 0);
}

/// Inputs of every kind, crossed with keys and biases that do and do not matter.
QueryCase drawn_query(int index, Random& random) {
  const Index width = random.integer(1, 3), d = random.integer(1, 2);
  const Index m = random.integer(1, width + 2);
  QueryCase one{draw_matrix(m, width, 2, random),
                draw_matrix(width, d, 2, random),
                draw_matrix(width, d, 2, random),
                draw_vector(d, 2, random)};
  const int kind = index % 5;
  if (kind == 1)
    one.inputs.col(0) =
        Vector<Rational>::ones(m) * random.nonzero(-1, 1);  // a plane beside the origin
  if (kind == 2) one.inputs.col(0).set_zero();              // a plane through it
  if (kind == 3) one.inputs = Vector<Rational>::ones(m) * one.inputs.row(0);  // one input
  if (kind == 4) one.inputs.row(0) = -one.inputs.row(m - 1);                  // symmetric
  const int weights = index / 5 % 5;
  if (weights == 1) one.key.set_zero();
  if (weights == 2) one.bias.set_zero();
  if (weights == 3) one.key.row(width - 1).set_zero();
  return one;
}

std::vector<QueryCase> query_cases(std::uint64_t seed) {
  const NormOutput shifted{Norm::kLayer, Vector<Rational>::ones(2), Vector<Rational>::unit(2, 0)};
  std::vector<QueryCase> cases;
  cases.push_back({rows({{0}, {1}}), rows({{0}}), rows({{1}}), Vector<Rational>::unit(1, 0)});
  cases.push_back({shifted.samples(), rows({{0}, {0}}), rows({{1}, {0}}), cases[0].bias});
  Random random(seed);
  for (int i = 0; i < 2500; ++i) cases.push_back(drawn_query(i, random));
  return cases;
}

/// A position of zeros and of ones in γ and in β of every kind.
std::vector<NormOutput> norm_outputs(std::uint64_t seed) {
  std::vector<NormOutput> cases;
  const auto add = [&](const Vector<Rational>& gain, const Vector<Rational>& shift) {
    cases.push_back({Norm::kLayer, gain, shift});
    cases.push_back({Norm::kRms, gain, shift});
  };
  for (const Index d : {2, 3}) {
    const Vector<Rational> ones = Vector<Rational>::ones(d);
    add(ones, ones * Rational(0));
    add(ones, Vector<Rational>::unit(d, 0));
  }
  Random random(seed);
  for (int i = 0; i < 1200; ++i) {
    const Index d = random.integer(1, 4);
    Vector<Rational> gain = draw_vector(d, 2, random), shift = draw_vector(d, 2, random);
    if (i % 3 == 0) gain = gain.map([](const Rational& g) { return g == 0 ? 1 : g; });
    if (i % 4 == 1) shift.set_zero();
    if (i % 8 == 2) shift(d - 1) -= shift.sum();
    add(gain, shift);
  }
  return cases;
}

/// A block in integers behind a norm, with as many heads as fit.
struct ShiftCase {
  NormOutput norm;
  AttentionBlock<Rational> block;
  Vector<Rational> shift;
};

ShiftCase drawn_shift(int index, Random& random) {
  const Index width = random.integer(2, 3), d = random.integer(1, 2);
  ShiftCase one{{index % 2 == 0 ? Norm::kLayer : Norm::kRms,
                 draw_vector(width, 2, random),
                 draw_vector(width, 2, random)},
                {},
                draw_vector(width, 2, random)};
  auto& block = one.block;
  block.heads = random.integer(1, 2);
  block.kv_heads = random.integer(1, block.heads);
  const Index q_width = block.heads * d, kv_width = block.kv_heads * d;
  block.query = draw_matrix(width, q_width, 1, random);
  block.key = draw_matrix(width, kv_width, 1, random);
  block.value = draw_matrix(width, kv_width, 2, random);
  block.output = draw_matrix(q_width, width, 2, random);
  block.query_bias = draw_vector(q_width, 1, random);
  block.key_bias = draw_vector(kv_width, 1, random);
  block.value_bias = draw_vector(kv_width, 1, random);
  block.output_bias = draw_vector(width, 1, random);
  block.causal = index % 3 == 0;
  if (index % 4 < 2) block.query_bias = block.query.transpose() * one.shift;  // b_Q = ΔW_Q
  return one;
}

}  // namespace

std::string QueryCase::text() const {
  return fmt::format(
      "inputs x in the rows of {}, W_Q = {}, W_K = {}, b_Q = {}", inputs, query, key, bias);
}

std::optional<bool> query_bias_replaceable(const QueryCase& one) {
  if (constant_functional(one.inputs)) return true;
  return is_zero(differences(one.inputs) * one.key * one.bias);
}

Verdict check_query_bias(const QueryStatement& replaceable, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : query_cases(seed)) {
    const auto stated = replaceable(one);
    if (!stated) continue;
    const bool exists = scores_without_bias_exist(one);
    const bool agrees = exists == *stated && (!exists || replacement_works(one));
    tally.sizes(
        {{"inputs", one.inputs.rows()}, {"width", one.inputs.cols()}, {"d", one.query.cols()}});
    tally.record(agrees, [&] {
      const auto u = constant_functional(one.inputs);
      const auto how = u ? ", W_Q + u b_Qᵀ with u = " + theory::text(*u) + " gives the same P"
                         : std::string(exists ? ", W_Q alone gives the same P"
                                              : ", no W_Q, W_K give the same P without b_Q");
      return Witness{one.text() + how, exists ? 1.0 : 0.0, *stated ? 1.0 : 0.0};
    });
  }
  return tally.verdict("the same P exists without b_Q (1) or not (0)", "as stated", "exact");
}

Matrix<Rational> NormOutput::samples() const {
  const Index width = gain.size();
  std::vector<Vector<Rational>> inputs;
  for (Index i = 0; i < width; ++i) {
    const Vector<Rational> unit = Vector<Rational>::unit(width, i);
    if (norm == Norm::kRms) {
      inputs.push_back(unit);
      inputs.push_back(-unit);
    }
    for (Index j = 0; norm == Norm::kLayer && j < width; ++j) {
      if (j != i) inputs.push_back(unit - Vector<Rational>::unit(width, j));
    }
  }
  if (inputs.empty()) inputs.push_back(Vector<Rational>::zero(width));  // LayerNorm of one feature
  const Rational epsilon = 1 - inputs[0].dot(inputs[0]) / Rational(width);
  Matrix<Rational> out(static_cast<Index>(inputs.size()), width);
  for (Index i = 0; i < out.rows(); ++i) {
    const auto& h = inputs[static_cast<std::size_t>(i)];
    out.row(i) = (normalise(norm, h, epsilon).value().cwise_product(gain) + shift).transpose();
  }
  return out;
}

std::string NormOutput::text() const {
  return fmt::format("{} with γ = {}, β = {}", to_string(norm), gain, shift);
}

std::optional<bool> norm_makes_constants(const NormOutput& one) {
  for (Index j = 0; j < one.gain.size(); ++j) {
    if (one.gain(j) == 0 && one.shift(j) != 0) return true;
  }
  if (one.norm == Norm::kRms || has_zero(one.gain)) return false;
  return one.shift.dot(one.gain.map([](const auto& gain) { return 1 / gain; })) != 0;
}

Verdict check_bias_reading_norm(const NormStatement& makes_bias, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : norm_outputs(seed)) {
    const auto stated = makes_bias(one);
    if (!stated) continue;
    const auto change = constant_functional(one.samples());
    tally.sizes({{"width", one.gain.size()}});
    tally.record(change.has_value() == *stated, [&] {
      const auto how = change ? "W + u bᵀ with u = " + text(*change) + " makes every bias b"
                              : std::string("no W makes a bias b ≠ 0");
      return Witness{one.text() + ": " + how, change ? 1.0 : 0.0, *stated ? 1.0 : 0.0};
    });
  }
  return tally.verdict("the projection makes its bias itself (1) or not (0)", "as stated", "exact");
}

AttentionBlock<Rational> absorb_shift(AttentionBlock<Rational> block,
                                      const Vector<Rational>& shift) {
  auto moved = block;
  moved.value_bias = block.value.transpose() * shift;
  block.query_bias -= block.query.transpose() * shift;
  block.output_bias -= value_bias_output(moved).sum_of_rows().transpose();
  return block;
}

Verdict check_shift(const ShiftStatement& other, std::uint64_t seed) {
  Tally tally;
  Random random(seed);
  for (int i = 0; i < 400; ++i) {
    const auto one = drawn_shift(i, random);
    auto shifted = one.norm;
    shifted.shift += one.shift;
    const Matrix<Rational> before = attention(one.block, one.norm.samples());
    const Matrix<Rational> after = attention(other(one.block, one.shift), shifted.samples());
    tally.sizes({{"width", one.shift.size()}, {"heads", one.block.heads}});
    tally.record(before == after, [&] {
      return Witness{
          fmt::format("{}, Δ = {}: the outputs {} become {}", one.norm, one.shift, before, after),
          before(0, 0).to_double(),
          after(0, 0).to_double()};
    });
  }
  return tally.verdict("output at β", "output at β + Δ", "exact");
}

}  // namespace kappascope::theory
