// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/offset_routes/attention_offset.h"

#include <fmt/format.h>

#include <utility>

#include "theory/exact/linalg.h"
#include "theory/tools/draws.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kPlain = 1000, kAltered = 1500, kRoutes = 2500;

Matrix<Rational> ones(Index rows, Index cols) {
  return Matrix<Rational>::ones(rows, cols);
}

AttentionCase draw_plain(Random& random) {
  const auto t = random.integer(1, 4), d = random.integer(1, 3);
  Matrix<Rational> weights(t, t);
  for (auto& weight : weights) {
    weight = Rational(random.integer(1, 9), random.integer(1, 4));
  }
  if (random.integer(0, 1) == 0) {
    for (Index i = 0; i < t; ++i) weights.block(i, i + 1, 1, t - 1 - i).set_zero();  // causal
  }
  return {weights, 0, ones(t, t), draw_matrix(t, d, 3, random), draw_nonzero_vector(d, 3, random)};
}

AttentionCase draw_altered(Random& random) {
  auto one = draw_plain(random);
  const auto kind = random.integer(0, 2);
  if (kind == 0) one.sink = Rational(random.integer(1, 4));
  if (kind == 1) one.weights.row(random.integer(0, one.weights.rows() - 1)).set_zero();
  if (kind == 2) {
    const Rational scale = random.pick<Rational>({Rational(10, 9), Rational(2)});
    for (auto& entry : one.dropout) {
      entry = random.integer(0, 2) == 0 ? Rational(0) : scale;
    }
  }
  return one;
}

OutputRoute draw_route(Random& random) {
  auto source = draw_plain(random);
  const auto keep = random.pick<Rational>({Rational(1), Rational(9, 10), Rational(1, 2)});
  const auto t = std::min<Index>(source.weights.rows(), 3);
  source.weights = Matrix<Rational>(source.weights.block(0, 0, t, t));
  source.dropout = ones(t, t);
  const auto d_v = random.integer(1, 3), d_model = random.integer(1, 3);
  Matrix<Rational> projection = draw_matrix(d_v, d_model, 2, random);
  if (random.integer(0, 3) == 0) projection.row(d_v - 1) = projection.row(0);
  Vector<Rational> wanted = draw_vector(d_model, 2, random);
  if (random.integer(0, 1) == 0) wanted = projection.transpose() * draw_vector(d_v, 2, random);
  return {source.probabilities(), keep, std::move(projection), std::move(wanted)};
}

/// The sum of a row of P under every mask, each with its probability.
std::vector<std::pair<Rational, Rational>> row_sums(const Vector<Rational>& row,
                                                    const Rational& keep) {
  std::vector<std::pair<Rational, Rational>> sums{{1, 0}};
  for (const auto& entry : row) {
    const auto before = std::exchange(sums, {});
    for (const auto& [share, sum] : before) {
      sums.emplace_back(share * keep, sum + entry / keep);
      if (keep != 1) sums.emplace_back(share * (1 - keep), sum);
    }
  }
  return sums;
}

bool solved_for_all_masks(const OutputRoute& route) {
  std::vector<Rational> sums;
  for (Index i = 0; i < route.probabilities.rows(); ++i) {
    const Vector<Rational> row = route.probabilities.row(i).transpose();
    for (const auto& sum : row_sums(row, route.keep)) sums.push_back(sum.second);
  }
  const Index outputs = route.wanted.size();
  const auto copies = static_cast<Index>(sums.size());
  Matrix<Rational> left(copies * outputs, route.projection.rows());
  Vector<Rational> right(copies * outputs);
  for (Index i = 0; i < copies; ++i) {
    left.middle_rows(i * outputs, outputs) =
        sums[static_cast<std::size_t>(i)] * route.projection.transpose();
    right.segment(i * outputs, outputs) = route.wanted;
  }
  return solve(left, right).has_value();
}

}  // namespace

Matrix<Rational> AttentionCase::probabilities() const {
  Matrix<Rational> p = weights;
  for (Index i = 0; i < p.rows(); ++i) {
    const Rational total = sink + weights.row(i).sum();
    if (total != 0) p.row(i) /= total;
  }
  return p.cwise_product(dropout);
}

std::string AttentionCase::text() const {
  auto out = fmt::format("P = {}, c = {}", probabilities(), offset);
  if (sink != 0) out += ", weight of the sink " + sink.text();
  if (dropout != ones(dropout.rows(), dropout.cols())) {
    out += ", dropout mask " + theory::text(dropout);
  }
  return out;
}

std::vector<AttentionCase> plain_attention(std::uint64_t seed) {
  const Matrix<Rational> one = ones(1, 1);
  std::vector<AttentionCase> cases{{one, 0, one, one, column({1})}};
  Random random(seed);
  for (int i = 0; i < kPlain; ++i) cases.push_back(draw_plain(random));
  return cases;
}

std::vector<AttentionCase> altered_attention(std::uint64_t seed) {
  const Matrix<Rational> one = ones(1, 1);
  std::vector<AttentionCase> cases{{one, 0, one * Rational(10, 9), one, column({1})},
                                   {one, 0, one * Rational(0), one, column({1})},
                                   {one, 1, one, one, column({1})},
                                   {one * Rational(0), 0, one, one, column({1})}};
  Random random(seed);
  for (int i = 0; i < kAltered; ++i) cases.push_back(draw_altered(random));
  return cases;
}

Matrix<Rational> one_copy_a_row(const AttentionCase& one) {
  return ones(one.weights.rows(), 1) * one.offset.transpose();
}

Matrix<Rational> row_sums_of_weights(const AttentionCase& one) {
  return one.probabilities() * Vector<Rational>::ones(one.probabilities().cols()) *
         one.offset.transpose();
}

Verdict check_transmitted(const TransmittedOffset& states,
                          const std::vector<AttentionCase>& cases) {
  Tally tally;
  for (const auto& one : cases) {
    const auto p = one.probabilities();
    const Matrix<Rational> shifted = one.values.plus_row(one.offset.transpose());
    const Matrix<Rational> gained = p * shifted - p * one.values;
    const Matrix<Rational> stated = states(one);
    tally.sizes({{"tokens", p.rows()}, {"d", one.offset.size()}});
    tally.record(gained == stated, [&] {
      return Witness{fmt::format("{}: A gains {}, the statement says {}", one, gained, stated),
                     gained(0, 0).to_double(),
                     stated(0, 0).to_double()};
    });
  }
  return tally.verdict("P(V + 1cᵀ) - PV", "as stated", "exact");
}

std::string OutputRoute::text() const {
  return fmt::format(
      "P = {}, p = {}, W_o = {}, wanted offset {}", probabilities, keep, projection, wanted);
}

std::vector<OutputRoute> output_routes(std::uint64_t seed) {
  const Matrix<Rational> one = ones(1, 1);
  std::vector<OutputRoute> routes{{one, 1, one, column({1})},
                                  {one, Rational(9, 10), one, column({1})},
                                  {one, 1, rows({{1, 0}}), column({0, 1})}};
  Random random(seed);
  for (int i = 0; i < kRoutes; ++i) routes.push_back(draw_route(random));
  return routes;
}

bool always_reconstructs(const OutputRoute& /*route*/) {
  return true;
}

bool reconstructs(const OutputRoute& route) {
  if (route.wanted == Vector<Rational>::zero(route.wanted.size())) return true;
  return route.keep == 1 && solve(route.projection.transpose(), route.wanted).has_value();
}

Verdict check_reconstruction(const Reconstructs& says, const std::vector<OutputRoute>& routes) {
  Tally tally;
  for (const auto& route : routes) {
    const bool solvable = solved_for_all_masks(route);
    tally.sizes({{"tokens", route.probabilities.rows()},
                 {"d_v", route.projection.rows()},
                 {"d_model", route.projection.cols()}});
    tally.record(solvable == says(route), [&] {
      std::string sums;
      for (const auto& [share, sum] : row_sums(route.probabilities.row(0), route.keep)) {
        sums += fmt::format("{}{} with probability {}", sums.empty() ? "" : ", ", sum, share);
      }
      return Witness{fmt::format("{}: the first row of P sums to {}; {} c gives the offset",
                                 route,
                                 sums,
                                 solvable ? "some" : "no"),
                     solvable ? 1.0 : 0.0,
                     says(route) ? 1.0 : 0.0};
    });
  }
  return tally.verdict("an offset of V exists (1) or not (0)", "as stated", "exact");
}

RowSumMoments inverted_row_sum(const Vector<Rational>& row, const Rational& keep) {
  return {1, (1 - keep) / keep * row.dot(row)};
}

Verdict check_row_sum(const RowSumFormula& states, const std::vector<OutputRoute>& routes) {
  Tally tally;
  for (const auto& route : routes) {
    const Vector<Rational> row = route.probabilities.row(0).transpose();
    Rational mean = 0, square = 0;
    for (const auto& [share, sum] : row_sums(row, route.keep)) {
      mean += share * sum;
      square += share * sum * sum;
    }
    const Rational variance = square - mean * mean;
    const auto stated = states(row, route.keep);
    tally.sizes({{"tokens", row.size()}});
    tally.record(mean == stated.mean && variance == stated.variance, [&] {
      return Witness{fmt::format("{}: the first row sums to {} on average with variance {}, the "
                                 "statement says {} and {}",
                                 route,
                                 mean,
                                 variance,
                                 stated.mean,
                                 stated.variance),
                     variance.to_double(),
                     stated.variance.to_double()};
    });
  }
  return tally.verdict("variance of a row's sum, over all masks", "as stated", "exact");
}

}  // namespace kappascope::theory
