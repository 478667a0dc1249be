// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "theory/claim.h"
#include "theory/exact/rational.h"

/// What attention does to a constant offset of V: A = PV with P_ij = M_ij e^{s_ij}/(e^{τ} + Σ_k
/// e^{s_ik}), so that the offset c of every row of V leaves as (Σ_j P_ij) c in row i. The weights
/// e^{s_ij} may be any positive numbers; here they are rational, and all is exact.
namespace kappascope::theory {

struct AttentionCase {
  Matrix<Rational> weights;  ///< [t, t] e^{s_ij}; 0 where the attention mask forbids j
  Rational sink = 0;         ///< e^τ of an extra logit that has no value; 0: none
  Matrix<Rational> dropout;  ///< [t, t] M, values 0 and 1/p; all ones without dropout
  Matrix<Rational> values;   ///< [t, d_v] V without the offset
  Vector<Rational> offset;   ///< [d_v] c

  /// A row that is masked as a whole is a row of zeros, as implementations that guard against 0/0
  /// have it.
  [[nodiscard]] Matrix<Rational> probabilities() const;  ///< [t, t] P, dropout included
  [[nodiscard]] std::string text() const;
};

/// Softmax as written, over full and causal masks: 1,000 seeded cases with up to 4 tokens.
std::vector<AttentionCase> plain_attention(std::uint64_t seed);
/// With dropout on P, a sink, or a row that is masked as a whole: hand-sized ones, then 1,500.
std::vector<AttentionCase> altered_attention(std::uint64_t seed);

/// What A gains when every row of V gains c, [t, d_v].
using TransmittedOffset = std::function<Matrix<Rational>(const AttentionCase&)>;
Matrix<Rational> one_copy_a_row(const AttentionCase& one);       ///< 1cᵀ, as published
Matrix<Rational> row_sums_of_weights(const AttentionCase& one);  ///< (P1)cᵀ
/// Compared with P(V + 1cᵀ) - PV.
Verdict check_transmitted(const TransmittedOffset& states, const std::vector<AttentionCase>& cases);

/// The route of an offset through the output projection, Z = AW_o, with dropout on P.
struct OutputRoute {
  Matrix<Rational> probabilities;  ///< [t, t] P before dropout, rows summing to one
  Rational keep = 1;               ///< p; masks are 0 and 1/p, as LibTorch's
  Matrix<Rational> projection;     ///< [d_v, d_model] W_o
  Vector<Rational> wanted;         ///< [d_model] the offset of Z
  [[nodiscard]] std::string text() const;
};
/// Hand-sized routes, then 2,500 seeded ones with t, d_v and d_model up to 3, W_o of full and
/// deficient rank, p in {1, 9/10, 1/2}, wanted offsets inside and outside the row space of W_o.
std::vector<OutputRoute> output_routes(std::uint64_t seed);

/// Whether some c makes every row of Z gain the wanted offset.
using Reconstructs = std::function<bool(const OutputRoute&)>;
bool always_reconstructs(const OutputRoute& route);  ///< as published
/// The wanted offset is zero; or it lies in the row space of W_o, and p = 1.
bool reconstructs(const OutputRoute& route);
/// Decided by elimination, with one equation for every row, every mask and every output.
Verdict check_reconstruction(const Reconstructs& says, const std::vector<OutputRoute>& routes);

/// Mean and variance over masks of what the offset arrives with in one row, for c = 1.
struct RowSumMoments {
  Rational mean, variance;
};
using RowSumFormula =
    std::function<RowSumMoments(const Vector<Rational>& row, const Rational& keep)>;
/// 1 and (1-p)/p Σ_j P_ij².
RowSumMoments inverted_row_sum(const Vector<Rational>& row, const Rational& keep);
/// Compared with a sum over all masks.
Verdict check_row_sum(const RowSumFormula& states, const std::vector<OutputRoute>& routes);

}  // namespace kappascope::theory
