// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/offset_routes/constant_makers.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "theory/exact/linalg.h"
#include "theory/tools/draws.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kLayers = 1000;

GatedLayer hidden(Gate gate, Matrix<Rational> up, Matrix<Rational> gates) {
  const Index units = up.cols();
  return {gate,
          std::move(up),
          std::move(gates),
          Vector<Rational>::zero(units),
          Matrix<Rational>::zero(units, 1)};
}

Matrix<Rational> mirrored(const Matrix<Rational>& columns) {
  return beside(columns, -columns);
}

Matrix<Rational> without_column(const Matrix<Rational>& a, Index dropped) {
  return beside(a.middle_cols(0, dropped), a.middle_cols(dropped + 1, a.cols() - 1 - dropped));
}

/// Units whose products (u·x)(g·x) add up to ‖x‖²: u the columns of a basis, g those of its dual.
GatedLayer draw_constant_maker(Gate gate, Index d, Random& random) {
  Matrix<Rational> basis = draw_matrix(d, d, 2, random);
  if (rank(basis) < d) basis = Matrix<Rational>::identity(d);
  const Matrix<Rational> dual = solve(basis.transpose(), Matrix<Rational>::identity(d)).value();
  auto layer = hidden(gate, mirrored(basis), mirrored(dual));
  const auto kind = random.integer(0, 3);
  const auto unit = random.integer(0, 2 * d - 1);
  if (kind == 0) {
    layer = hidden(gate, without_column(layer.up, unit), without_column(layer.gates, unit));
  }
  if (kind == 1) layer.gates.col(unit) *= random.pick<Rational>({Rational(2), Rational(-1)});
  return layer;
}

std::vector<GatedLayer> layers(std::uint64_t seed) {
  const auto plane = mirrored(Matrix<Rational>::identity(2));
  std::vector<GatedLayer> all{hidden(Gate::kSilu, plane, plane),
                              hidden(Gate::kRelu, plane, plane),
                              hidden(Gate::kSilu, rows({{1}}), rows({{1}})),
                              hidden(Gate::kSilu, rows({{1, -1}}), rows({{1, -1}}))};
  Random random(seed);
  for (int i = 0; i < kLayers; ++i) {
    const auto gate = random.pick<Gate>({Gate::kRelu, Gate::kSilu});
    const auto d = random.pick<Index>({2, 2, 3});
    auto layer = draw_constant_maker(gate, d, random);
    const auto extra = draw_layer(gate, d, random.integer(1, 3), 1, random);
    const auto kind = random.integer(0, 5);
    if (kind == 0) layer = draw_layer(gate, d, random.integer(1, 2 * d + 1), 1, random);
    if (kind == 1) layer = beside(layer, extra);
    all.push_back(std::move(layer));
  }
  return all;
}

/// Inputs enough to tell; for ReLU in pairs x and -x, so that both sides of every gate are seen.
std::vector<Vector<Rational>> telling_inputs(const GatedLayer& units, Random& random) {
  const auto d = units.d();
  const bool paired = units.gate == Gate::kRelu;
  const auto enough = paired ? units.d_ff() + 3 : d * (d + 1) / 2 + 3;
  auto inputs = normalised_points(d, static_cast<int>(enough), random);
  for (std::size_t i = paired ? inputs.size() : 0; i-- > 0;) inputs.emplace_back(-inputs[i]);
  return inputs;
}

/// Σ w_j S_j(x) = 1, a row for each input and, since symbols are independent, each symbol.
std::optional<Matrix<Rational>> solved_for_down(const GatedLayer& units, Random& random) {
  const Vector<Rational> nothing = Vector<Rational>::zero(units.d_ff());
  std::vector<Vector<Rational>> equations;
  std::vector<Rational> right;
  for (const auto& x : telling_inputs(units, random)) {
    const auto s = units.features(x);
    std::map<Rational, Vector<Rational>> by_symbol{{0, nothing}};
    for (std::size_t j = 0; j < s.size(); ++j) {
      for (const auto& [symbol, coefficient] : s[j].terms()) {
        auto& row = by_symbol.try_emplace(symbol, nothing).first->second;
        row(static_cast<Index>(j)) = coefficient;
      }
    }
    for (auto& [symbol, row] : by_symbol) {
      equations.push_back(std::move(row));
      right.emplace_back(symbol == 0 ? 1 : 0);
    }
  }
  const auto count = static_cast<Index>(right.size());
  Matrix<Rational> left(count, units.d_ff());
  for (Index i = 0; i < count; ++i) {
    left.row(i) = equations[static_cast<std::size_t>(i)].transpose();
  }
  Vector<Rational> target(count);
  std::copy(right.begin(), right.end(), target.begin());
  return solve(left, target);
}

/// The line of g, and its length on that line for a ReLU; for a SiLU g up to sign, and 1.
std::pair<std::vector<Rational>, Rational> gate_class(Gate gate, const Vector<Rational>& g) {
  Index first = 0;
  while (g(first) == 0) ++first;
  const Rational& lead = g(first);
  const Rational size = lead < 0 ? -lead : lead;
  const Rational scale = gate == Gate::kRelu ? lead : lead / size;
  std::vector<Rational> line;
  for (const auto& entry : g) line.push_back(entry / scale);
  return {line, gate == Gate::kRelu ? size : Rational(1)};
}

}  // namespace

GatedLayer mirrored_units(Gate gate, const Vector<Rational>& target, Index d) {
  const auto units = mirrored(Matrix<Rational>::identity(d));
  auto layer = hidden(gate, units, units);
  layer.down = Vector<Rational>::ones(2 * d) * (target / Rational(d)).transpose();
  return layer;
}

Verdict check_constant_builder(const ConstantBuilder& build, std::uint64_t seed) {
  Tally tally;
  Random random(seed);
  const auto compare = [&](const GatedLayer& layer,
                           const Vector<Rational>& x,
                           const Vector<Rational>& stated,
                           const std::string& where) {
    const auto made = layer(x);
    bool agrees = layer.d_ff() == 2 * layer.d();
    for (Index k = 0; k < stated.size(); ++k) {
      agrees = agrees && made[static_cast<std::size_t>(k)] == FormalSum(stated(k));
    }
    tally.sizes({{"d", layer.d()}, {"units", layer.d_ff()}});
    tally.record(agrees, [&] {
      return Witness{fmt::format("{}: Z is {} at x = {}{}, stated is {} from {} units",
                                 layer,
                                 text(made),
                                 x,
                                 where,
                                 stated,
                                 2 * layer.d()),
                     made[0].to_double(logistic),
                     stated(0).to_double()};
    });
  };
  for (const auto gate : {Gate::kSilu, Gate::kRelu, Gate::kGelu}) {
    for (Index d = 1; d <= 4; ++d) {
      const Vector<Rational> target = d == 1 ? column({1}) : draw_vector(2, 3, random);
      const auto layer = build(gate, target, d);
      for (const auto& x : normalised_points(d, 20, random)) compare(layer, x, target, "");
      for (int i = 0; i < 20; ++i) {
        const auto v = draw_nonzero_vector(d, 3, random);
        const Rational mean_square = v.dot(v) / Rational(d);
        const Rational root(random.integer(4, 9));  // √(ms + ε), above the largest √ms
        const Rational eps = root * root - mean_square;
        compare(layer,
                v / root,
                target * (mean_square / (mean_square + eps)),
                fmt::format(" = RMSNorm({}) with ε = {}", v, eps));
      }
    }
  }
  return tally.verdict("Z_1", "as stated", "exact");
}

std::optional<bool> no_constant(const GatedLayer& /*units*/) {
  return false;
}

std::optional<bool> too_few_units(const GatedLayer& units) {
  Index live = 0;
  for (Index j = 0; j < units.d_ff(); ++j) {
    live += is_zero(units.up.col(j)) || is_zero(units.gates.col(j)) ? 0 : 1;
  }
  return live < 2 * units.d() ? std::optional(false) : std::nullopt;
}

std::optional<bool> balanced(const GatedLayer& units) {
  const Index d = units.d(), n = units.d_ff();
  std::map<std::vector<Rational>, Matrix<Rational>> odd;  // class -> coefficients of w, [d, n]
  Matrix<Rational> even = Matrix<Rational>::zero(d * d, n);
  for (Index j = 0; j < n; ++j) {
    const Vector<Rational> u = units.up.col(j), g = units.gates.col(j);
    if (is_zero(g)) continue;
    const Matrix<Rational> product = u * g.transpose() + g * u.transpose();
    even.col(j) = product.reshaped();
    const auto [line, size] = gate_class(units.gate, g);
    odd.try_emplace(line, Matrix<Rational>::zero(d, n)).first->second.col(j) = size * u;
  }
  const auto groups = static_cast<Index>(odd.size());
  Matrix<Rational> left(d * d + d * groups, n);
  left.middle_rows(0, d * d) = even;
  Index at = d * d;
  for (const auto& group : odd) {
    left.middle_rows(at, d) = group.second;
    at += d;
  }
  Vector<Rational> right = Vector<Rational>::zero(left.rows());
  right.segment(0, d * d) = (Rational(Index{4}, d) * Matrix<Rational>::identity(d)).reshaped();
  return solve(left, right).has_value();
}

Verdict check_constant_makers(const MakesConstant& says, std::uint64_t seed) {
  Tally tally;
  Random random(seed);
  std::set<bool> stated, seen;
  for (const auto& units : layers(seed)) {
    const auto predicted = says(units);
    if (!predicted) continue;
    const auto down = solved_for_down(units, random);
    stated.insert(*predicted);
    seen.insert(down.has_value());
    tally.sizes({{"d", units.d()}, {"units", units.d_ff()}});
    tally.record(down.has_value() == *predicted, [&] {
      auto shown = units;
      if (down) shown.down = *down;
      Random again(1);  // one witness, whatever the seed
      const auto points = normalised_points(units.d(), 2, again);
      const auto first = shown(points[0]), second = shown(points[1]);
      return Witness{fmt::format("{}: Z is {} at x = {} and {} at x = {}{}",
                                 shown,
                                 text(first),
                                 points[0],
                                 text(second),
                                 points[1],
                                 down ? "" : ", and no W_d makes it constant"),
                     first[0].to_double(logistic),
                     second[0].to_double(logistic)};
    });
  }
  auto verdict = tally.verdict("Z at one normalised x", "at another", "exact");
  if (verdict.outcome == Outcome::kHolds && stated != seen) verdict.outcome = Outcome::kUndecided;
  return verdict;
}

}  // namespace kappascope::theory
