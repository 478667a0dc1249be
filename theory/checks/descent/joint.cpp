// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/descent/joint.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

#include "theory/checks/proposition1/block_hessian.h"
#include "theory/exact/enclosure.h"
#include "theory/exact/linalg.h"
#include "theory/tools/eigen.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr double kTie = 1e-9;
constexpr double kReached = 1e-6;
constexpr double kWorstSimulated = 1e3;

/// Σ > 0: every small case, and one in `stride` of the seeded ones.
std::vector<GramCase> regular_cases(std::uint64_t seed, std::size_t stride) {
  std::vector<GramCase> regular;
  std::size_t index = 0;
  for (auto& one : gram_cases(seed)) {
    constexpr std::size_t kSmall = 500;
    if (++index > kSmall && index % stride != 0) continue;
    if (one.rank() == one.dimension()) regular.push_back(std::move(one));
  }
  return regular;
}

double kappa(const Matrix<Rational>& a) {
  const auto values = eigenvalues(to_double(a));
  return values.back() / values.front();
}

Matrix<Rational> shifted(const Matrix<Rational>& a, const Rational& shift) {
  return a - Matrix<Rational>::identity(a.rows()) * shift;
}

}  // namespace

Matrix<Rational> joint_hessian_of(const GramCase& one) {
  const Index d = one.dimension();
  Matrix<Rational> joint(d + 1, d + 1);
  joint.block(0, 0, d, d) = one.second_moment();
  joint.block(0, d, d, 1) = one.mu;
  joint.block(d, 0, 1, d) = one.mu.transpose();
  joint(d, d) = 1;
  return joint;
}

Matrix<Rational> weight_block(const GramCase& one) {
  return one.second_moment();
}

Matrix<Rational> centred_problem(const GramCase& one) {
  const Index d = one.dimension();
  Matrix<Rational> centred = Matrix<Rational>::identity(d + 1);
  centred.block(0, 0, d, d) = one.sigma;
  return centred;
}

Matrix<Rational> sheared_centred(const GramCase& one) {
  const Index d = one.dimension();
  Matrix<Rational> shear = Matrix<Rational>::identity(d + 1);
  shear.block(0, d, d, 1) = one.mu;
  const Matrix<Rational> half = shear * centred_problem(one);
  return half * shear.transpose();
}

Verdict check_no_worse(const CaseMatrix& alone, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : regular_cases(seed, 1)) {
    const Matrix<Rational> joint = joint_hessian_of(one), other = alone(one);
    tally.sizes({{"d", one.dimension()}});
    const double with = kappa(joint), without = kappa(other);
    const bool agrees = with <= without * (1 + kTie);
    if (agrees || tally.has_witness()) {
      tally.record_rounded(agrees, with, without, kTie);
      continue;
    }
    const auto bounds_with = kappa_enclosure(joint), bounds_without = kappa_enclosure(other);
    if (bounds_without.upper >= bounds_with.lower) {
      tally.record_rounded(false, with, without, kTie);
      continue;
    }
    tally.record(false, [&] {
      return Witness{
          fmt::format(
              "Σ = {}, μ = {}: joint {} has κ = {:.4f}, {} has κ = {:.4f}; to 1e-6 gradient "
              "descent takes {} steps on the first, {} on the second, {} on diag(Σ, 1)",
              one.sigma,
              one.mu,
              joint,
              bounds_with.middle(),
              other,
              bounds_without.middle(),
              steps_to_converge(to_double(joint)),
              steps_to_converge(to_double(other)),
              steps_to_converge(to_double(centred_problem(one)))),
          bounds_with.middle(),
          bounds_without.middle()};
    });
  }
  return tally.verdict("κ with the intercept", "κ without", "search, witness exact");
}

std::vector<SpectrumPair> joint_beside(const CaseMatrix& narrow, std::uint64_t seed) {
  std::vector<SpectrumPair> pairs;
  for (const auto& one : regular_cases(seed, 8)) {
    pairs.push_back({one.text(), joint_hessian_of(one), narrow(one)});
  }
  return pairs;
}

std::vector<SpectrumPair> bias_beside_block(std::uint64_t seed) {
  std::vector<SpectrumPair> pairs;
  for (const auto& one : unconstrained_cases(seed, 100)) {
    const Matrix<Rational> joint = joint_hessian(one);
    const Index block = one.weight.size();
    pairs.push_back({one.text(), joint, joint.block(0, 0, block, block)});
  }
  return pairs;
}

Verdict check_ends_enclose(const std::vector<SpectrumPair>& pairs) {
  Tally tally;
  for (const auto& pair : pairs) {
    const auto ends = extreme_eigenvalues(pair.narrow);
    // Something of `wide` lies above what is below λmax(narrow), and likewise at the bottom.
    const bool above = definiteness(shifted(-pair.wide, -ends.max.lower)) == Definiteness::kNeither;
    const bool below = definiteness(shifted(pair.wide, ends.min.upper)) == Definiteness::kNeither;
    tally.sizes({{"d", pair.narrow.rows()}});
    tally.record(above && below, [&] {
      const auto found = eigenvalues(to_double(pair.wide));
      return Witness{
          fmt::format("{}: the ends are {:.6g} and {:.6g} of {}, {:.6g} and {:.6g} of {}",
                      pair.text,
                      found.front(),
                      found.back(),
                      pair.wide,
                      ends.min.middle(),
                      ends.max.middle(),
                      pair.narrow),
          found.back(),
          ends.max.middle()};
    });
  }
  return tally.verdict("λmax of the joint Hessian", "λmax beside it", "exact, by rational bounds");
}

Verdict check_joint_identity(const CaseMatrix& formula, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : gram_cases(seed)) {
    const Matrix<Rational> joint = joint_hessian_of(one), stated = formula(one);
    tally.sizes({{"d", one.dimension()}});
    tally.record(joint == stated, [&] {
      return Witness{one.text() + ": " + text(joint) + " against " + text(stated),
                     joint(0, 0).to_double(),
                     stated(0, 0).to_double()};
    });
  }
  return tally.verdict("J", "the formula", "exact");
}

int steps_to_converge(const Matrix<double>& hessian) {
  const auto [values, vectors] = eigen_basis(hessian);
  const double step = 2 / (values(0) + values(values.size() - 1));
  Vector<double> error = vectors.col(0);
  int steps = 0;
  for (constexpr int kEnough = 1'000'000; error.norm() > kReached && steps < kEnough; ++steps) {
    error -= step * (hessian * error);
  }
  return steps;
}

Verdict check_steps(const CaseMatrix& alone, std::uint64_t seed) {
  Tally tally;
  for (const auto& one : regular_cases(seed, 16)) {
    const Matrix<Rational> joint = joint_hessian_of(one);
    if (kappa(joint) > kWorstSimulated) continue;
    const int with = steps_to_converge(to_double(joint));
    const int without = steps_to_converge(to_double(alone(one)));
    tally.sizes({{"d", one.dimension()}});
    tally.record_rounded(with >= without, with, without, 0);
  }
  return tally.verdict("steps with the intercept", "steps without", "search");
}

}  // namespace kappascope::theory
