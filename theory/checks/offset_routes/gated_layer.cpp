// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/offset_routes/gated_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "core/names.h"
#include "theory/exact/linalg.h"
#include "theory/tools/draws.h"

namespace kappascope::theory {

const char* to_string(Gate gate) {
  return name_in<Gate::kLogistic>(std::array{"bilinear", "ReLU", "SiLU", "GELU", "logistic"}, gate);
}

FormalSum activate(Gate gate, const Rational& t) {
  if (gate == Gate::kBilinear) return t;
  if (gate == Gate::kRelu) return t > 0 ? t : Rational(0);
  FormalSum sigma = Rational(1, 2);
  if (t > 0) sigma = FormalSum::symbol(t);
  if (t < 0) sigma = FormalSum(Rational(1)) - FormalSum::symbol(-t);
  return gate == Gate::kLogistic ? sigma : t * sigma;
}

double logistic(double t) {
  return 1 / (1 + std::exp(-t));
}

double symbol_value(Gate gate, double t) {
  return gate == Gate::kGelu ? std::erfc(-t / std::sqrt(2.0)) / 2 : logistic(t);
}

const char* symbol_name(Gate gate) {
  return gate == Gate::kGelu ? "Φ" : "σ";
}

Values operator-(Values left, const Values& right) {
  assert(left.size() == right.size());
  for (std::size_t k = 0; k < left.size(); ++k) left[k] -= right[k];
  return left;
}

std::string text(const Values& values, Gate gate) {
  std::string out;
  for (const auto& value : values) {
    out += (out.empty() ? "" : ", ") + value.text(symbol_name(gate));
  }
  return values.size() == 1 ? out : "(" + out + ")";
}

double norm(const Values& values, Gate gate) {
  const auto value_of = gate == Gate::kGelu ? [](double t) { return symbol_value(Gate::kGelu, t); }
                                            : [](double t) { return logistic(t); };
  double sum = 0;
  for (const auto& value : values) sum += std::pow(value.to_double(value_of), 2);
  return std::sqrt(sum);
}

std::optional<bool> equal(const Values& left, const Values& right, Gate gate) {
  constexpr double kSeen = 1e-9;
  if (left == right) return true;
  if (gate == Gate::kGelu && norm(left - right, gate) <= kSeen) return std::nullopt;
  return false;
}

Values GatedLayer::features(const Vector<Rational>& x) const {
  const Vector<Rational> u = up.transpose() * x, g = gates.transpose() * x;
  Values s;
  for (Index j = 0; j < d_ff(); ++j) s.push_back(u(j) * activate(gate, g(j)));
  return s;
}

Values GatedLayer::operator()(const Vector<Rational>& x) const {
  const auto s = features(x);
  Values z(static_cast<std::size_t>(d_model()));
  for (Index j = 0; j < d_ff(); ++j) {
    const FormalSum y = s[static_cast<std::size_t>(j)] + FormalSum(bias(j));
    for (Index k = 0; k < d_model(); ++k) {
      if (down(j, k) != 0) z[static_cast<std::size_t>(k)] += down(j, k) * y;
    }
  }
  return z;
}

std::string GatedLayer::text() const {
  auto out = fmt::format("{} gate, W_u = {}, W_g = {}, W_d = {}", to_string(gate), up, gates, down);
  const bool biased = std::any_of(bias.begin(), bias.end(), [](const auto& b) { return b != 0; });
  return biased ? out + ", b = " + theory::text(bias) : out;
}

GatedLayer without_bias(GatedLayer layer) {
  layer.bias.set_zero();
  return layer;
}

GatedLayer beside(const GatedLayer& left, const GatedLayer& right) {
  assert(left.gate == right.gate && left.d() == right.d() && left.d_model() == right.d_model());
  return {left.gate,
          beside(left.up, right.up),
          beside(left.gates, right.gates),
          below(left.bias, right.bias),
          below(left.down, right.down)};
}

GatedLayer draw_layer(Gate gate, Index d, Index d_ff, Index d_model, Random& random) {
  GatedLayer layer{gate,
                   draw_matrix(d, d_ff, 2, random),
                   draw_matrix(d, d_ff, 2, random),
                   draw_vector(d_ff, 2, random),
                   draw_matrix(d_ff, d_model, 2, random)};
  for (Index j = 0; j < d_ff; ++j) {
    const auto kind = random.integer(0, 9);
    if (kind == 0) layer.up.col(j).set_zero();
    if (kind == 1) layer.gates.col(j).set_zero();
    if (kind == 2) layer.gates.col(j) = random.nonzero(-2, 2) * layer.up.col(j);
    if (kind >= 7 && j > 0) {
      layer.up.col(j) = layer.up.col(j - 1);
      layer.gates.col(j) = -layer.gates.col(j - 1);
      if (kind == 9) layer.down.row(j) = -layer.down.row(j - 1);
    }
  }
  return layer;
}

std::vector<Vector<Rational>> normalised_points(Index d, int count, Random& random) {
  const Vector<Rational> ones = Vector<Rational>::ones(d);
  std::vector<Vector<Rational>> points{ones};
  if (d == 1) return {ones, -ones};
  // Entries this large have many more directions than points are wanted; a zero entry would keep a
  // coordinate at one, and such points lie on common conics.
  const auto bound = std::max(4, count / 2);
  while (points.size() < static_cast<std::size_t>(count)) {
    Vector<Rational> v(d);
    for (auto& entry : v) entry = random.nonzero(-bound, bound);
    const Vector<Rational> image = ones - (2 * v.dot(ones) / v.dot(v)) * v;
    const bool known = std::any_of(points.begin(), points.end(), [&](const auto& point) {
      return point == image || point == -image;
    });
    if (!known) points.push_back(image);
  }
  return points;
}

}  // namespace kappascope::theory
