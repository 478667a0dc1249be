// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "theory/checks/proposition1/gram_cases.h"
#include "theory/claim.h"

/// How well conditioned the problem in (W, c) is that Z = φW + c poses under squared loss. Per
/// output its Hessian is J = [Σ+μμᵀ, μ; μᵀ, 1], the second moment of (φ, 1). The W block is a
/// principal submatrix, so by Cauchy's interlacing λmax(J) >= λmax and λmin(J) <= λmin of it. With
/// L = [I, μ; 0, 1], J = L diag(Σ, 1) Lᵀ: centring φ by hand is a change of variables that leaves
/// diag(Σ, 1). J has 1 on its diagonal and λmax(J) >= λmax(Σ+μμᵀ), its inverse has Σ⁻¹ and
/// 1 + μᵀΣ⁻¹μ there: J's ends enclose those of diag(Σ, 1) too, and so those of Σ.
namespace kappascope::theory {

/// A symmetric matrix of one case.
using CaseMatrix = std::function<Matrix<Rational>(const GramCase&)>;
Matrix<Rational> joint_hessian_of(const GramCase& one);  ///< J
Matrix<Rational> weight_block(const GramCase& one);      ///< Σ + μμᵀ
Matrix<Rational> centred_problem(const GramCase& one);   ///< diag(Σ, 1)
Matrix<Rational> sheared_centred(const GramCase& one);   ///< L diag(Σ, 1) Lᵀ

/// κ(J) <= κ(alone), Σ > 0. Compared in floating point; a witness has its eigenvalues enclosed
/// between fractions and says how many steps gradient descent takes on both.
Verdict check_no_worse(const CaseMatrix& alone, std::uint64_t seed);

/// Two symmetric matrices, of which the ends of the first one's spectrum enclose the second's.
struct SpectrumPair {
  std::string text;
  Matrix<Rational> wide, narrow;
};
/// J beside `narrow`, Σ > 0.
std::vector<SpectrumPair> joint_beside(const CaseMatrix& narrow, std::uint64_t seed);
/// The joint Hessian of (W_d, b) of small regressions beside its W_d block, which is
/// [Σ + (μ+b)(μ+b)ᵀ] ⊗ I.
std::vector<SpectrumPair> bias_beside_block(std::uint64_t seed);
/// λmax(wide) >= λmax(narrow) and λmin(wide) <= λmin(narrow): exactly, up to brackets of relative
/// width 1e-9 around the eigenvalues of `narrow`, each verified by elimination.
Verdict check_ends_enclose(const std::vector<SpectrumPair>& pairs);

/// J = formula, exactly.
Verdict check_joint_identity(const CaseMatrix& formula, std::uint64_t seed);

/// The steps of gradient descent on ½eᵀHe at its best constant step 2/(λmin + λmax), from the worst
/// start, to 1e-6 of the first error; simulated. H > 0, κ(H) up to about 1e4.
int steps_to_converge(const Matrix<double>& hessian);
/// Never fewer steps on J than on `alone`, Σ > 0 and κ(J) <= 1e3. In floating point: this cannot
/// refute, only leave undecided.
Verdict check_steps(const CaseMatrix& alone, std::uint64_t seed);

}  // namespace kappascope::theory
