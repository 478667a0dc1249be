// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/isotropy/branch_offset.h"

#include <fmt/format.h>

#include <optional>

#include "theory/exact/linalg.h"
#include "theory/tools/conditions.h"
#include "theory/tools/draws.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr int kLayers = 2000;

Vector<Rational> normalised(Vector<Rational> h) {
  const Rational mean = h.sum() / h.size();
  for (auto& entry : h) entry -= mean;
  const Rational variance = h.dot(h) / h.size();
  return h / Rational(1 + variance);
}

/// The bias of LayerNorm that adds `offset` to every output, if there is one.
std::optional<Vector<Rational>> beta_for(const BranchLayer& layer, const Vector<Rational>& offset) {
  const auto solution = solve(layer.branch * layer.temperature, offset);
  if (!solution) return std::nullopt;
  const Vector<Rational> beta = solution->col(0);
  const Vector<Rational> none = Vector<Rational>::zero(beta.size());
  for (int token = 0; token < 4; ++token) {
    Vector<Rational> x(layer.dimension());
    for (Index i = 0; i < x.size(); ++i) x(i) = token * (i + 1) - i;
    if (layer.output(x, beta) - layer.output(x, none) != offset) return std::nullopt;
  }
  return beta;
}

Witness describe(const BranchLayer& layer,
                 const Vector<Rational>& offset,
                 const std::optional<Vector<Rational>>& beta,
                 bool stated) {
  return {fmt::format("d = {}, k = {}, W_branch = {}, σ(t) = {}: {} adds {} to the output of every "
                      "token",
                      layer.dimension(),
                      layer.branch.cols(),
                      layer.branch,
                      layer.temperature,
                      beta ? "β = " + text(*beta) : "no β",
                      offset),
          beta ? 1.0 : 0.0,
          stated ? 1.0 : 0.0};
}

}  // namespace

Vector<Rational> BranchLayer::output(const Vector<Rational>& token,
                                     const Vector<Rational>& beta) const {
  const Vector<Rational> activated = gelu * token, values = gate * token;
  const Vector<Rational> gated_path = values.cwise_product(activated.cwise_product(activated));
  const Vector<Rational> normal = normalised(iso * token);
  const Vector<Rational> affine = (gain.cwise_product(normal) + beta) * temperature;
  return gated * gated_path + branch * affine;
}

std::vector<BranchLayer> branch_layers(std::uint64_t seed, int draws) {
  const Matrix<Rational> one = Matrix<Rational>{{1}};
  std::vector<BranchLayer> layers{
      {one, one, Matrix<Rational>::zero(1, 1), one, one * Rational(2), one, {1, 2}}};
  Random random(seed);
  for (int i = 0; i < draws; ++i) {
    const Index d = random.integer(1, 3), f = random.integer(1, 3), k = random.integer(1, 4);
    BranchLayer layer{draw_matrix(f, d, 2, random),
                      draw_matrix(f, d, 2, random),
                      draw_matrix(d, f, 2, random),
                      draw_matrix(k, d, 2, random),
                      draw_matrix(d, k, 2, random),
                      draw_matrix(k, 1, 2, random),
                      Rational(random.integer(1, 7)) / 8};
    if (i % 4 == 0) layer.branch = draw_rank_one(d, k, 2, random);
    if (i % 4 == 1) layer.gated.set_zero();
    if (i % 40 == 2) layer.branch.set_zero();
    layers.push_back(std::move(layer));
  }
  return layers;
}

bool offset_in_range(const BranchLayer& layer, const Vector<Rational>& offset) {
  return solve(layer.branch, offset).has_value();
}

Verdict check_offset(const OffsetStatement& says, std::uint64_t seed) {
  Tally tally;
  Random random(seed);
  BothSides sides;
  for (const auto& layer : branch_layers(seed, kLayers)) {
    Vector<Rational> offset = draw_vector(layer.dimension(), 2, random);
    if (tally.cases() == 0) offset = Vector<Rational>::ones(offset.size());
    const auto beta = beta_for(layer, offset);
    sides.see(beta.has_value());
    const bool stated = says(layer, offset);
    tally.sizes(layer.sizes());
    tally.record(beta.has_value() == stated, [&] { return describe(layer, offset, beta, stated); });
  }
  return sides.demand(tally.verdict("β makes the offset (1) or not (0)", "as stated", "exact"));
}

Verdict check_any_offset(const AnyOffsetStatement& says, std::uint64_t seed) {
  Tally tally;
  BothSides sides;
  for (const auto& layer : branch_layers(seed, kLayers)) {
    const Index d = layer.dimension();
    Vector<Rational> offset = Vector<Rational>::unit(d, 0);
    auto beta = beta_for(layer, offset);
    for (Index i = 1; i < d && beta; ++i) {
      offset = Vector<Rational>::unit(d, i);
      beta = beta_for(layer, offset);
    }
    sides.see(beta.has_value());
    const bool stated = says(layer);
    tally.sizes(layer.sizes());
    tally.record(beta.has_value() == stated, [&] { return describe(layer, offset, beta, stated); });
  }
  return sides.demand(tally.verdict("β makes every offset (1) or not (0)", "as stated", "exact"));
}

}  // namespace kappascope::theory
