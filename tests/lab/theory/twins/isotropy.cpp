// SPDX-License-Identifier: Apache-2.0
#include "lab/theory/twins/twins.h"
#include "theory/checks/isotropy/branch.h"
#include "theory/checks/isotropy/branch_offset.h"
#include "theory/checks/isotropy/branch_scale.h"
#include "theory/checks/isotropy/tables.h"
#include "theory/checks/isotropy/variance_ratio.h"
#include "theory/exact/linalg.h"

namespace kappascope::theory {
namespace {

constexpr auto kSeed = kTwinSeed;
constexpr int kCases = 300;

Enclosure isotropic(const BranchCase&) {
  return Enclosure(1);
}

/// As if LayerNorm cost no direction.
Enclosure full_rank(const BranchCase& one) {
  const Index k = one.dimension();
  return {Rational(2) / k, 1};
}

/// The rank of the projections before LayerNorm centres them, less one.
Enclosure rank_before_centring(const BranchCase& one) {
  const Matrix<Rational> projected = one.tokens * one.weights.transpose();
  const Index k = one.dimension();
  return {Rational(1) / k, Rational(rank(projected) - 1) / k};
}

bool no_offset(const BranchLayer&, const Vector<Rational>& offset) {
  return offset.squared_norm() == 0;
}

bool any_offset(const BranchLayer&, const Vector<Rational>&) {
  return true;
}

bool wide_enough(const BranchLayer& layer) {
  return layer.branch.cols() >= layer.dimension();
}

bool full_row_rank(const BranchLayer& layer) {
  return rank(layer.branch) == layer.dimension();
}

Enclosure root_k(const BranchCase& one, Index) {
  return Enclosure(one.dimension());
}

Enclosure without_epsilon(BranchCase one, Index token) {
  one.epsilon = 0;
  return derived_length(one, token);
}

/// As if LayerNorm's bias did not meet σ(t).
BranchLayer in_gain_alone(BranchLayer layer) {
  layer.gain = layer.gain * layer.temperature;
  layer.temperature = 1;
  return layer;
}

}  // namespace

Twins isotropy_twins() {
  using enum TableQuantity;
  const Rational published(85, 100), power(80, 100);
  return {
      {"I-ISOa",
       {[] { return check_isotropy(derived_isotropy, branch_cases(kSeed, kCases)); },
        [] { return check_isotropy(isotropic, branch_cases(kSeed, kCases)); }}},
      {"I-ISOa, mean cosine",
       {[] { return check_mean_cosine(1); }, [] { return check_mean_cosine(0); }}},
      {"I-ISOa'",
       {[] { return check_isotropy(derived_isotropy, branch_cases(kSeed, kCases)); },
        [] { return check_isotropy(rank_before_centring, branch_cases(kSeed, kCases)); }}},
      {"I-ISOa', lower end",
       {[] { return check_isotropy(derived_isotropy, concentrated_cases()); },
        [] { return check_isotropy(full_rank, concentrated_cases()); }}},
      {"I-BIAS",
       {[] { return check_offset(offset_in_range, kSeed); },
        [] { return check_offset(no_offset, kSeed); }}},
      {"I-BIAS'",
       {[] { return check_offset(offset_in_range, kSeed); },
        [] { return check_offset(any_offset, kSeed); }}},
      {"I-BIAS', every offset",
       {[] { return check_any_offset(full_row_rank, kSeed); },
        [] { return check_any_offset(wide_enough, kSeed); }}},
      {"I-SCALE",
       {[] { return check_length(derived_length, branch_cases(kSeed, kCases)); },
        [] { return check_length(root_k, branch_cases(kSeed, kCases)); }}},
      {"I-SCALE'",
       {[] { return check_length(derived_length, branch_cases(kSeed, kCases)); },
        [] { return check_length(without_epsilon, branch_cases(kSeed, kCases)); }}},
      {"I-TEMP",
       {[] { return check_temperature(absorbed_temperature, kSeed); },
        [] { return check_temperature(in_gain_alone, kSeed); }}},
      {"I-VAR",
       {[=] {
          return check_variance_findings({{5, published, false}});
        },
        [=] {
          return check_variance_findings({{5, published, true}});
        }}},
      {"I-VAR'",
       {[=] {
          return check_power({{1191, published, power, true}});
        },
        [=] {
          return check_power({{1189, published, power, true}});
        }}},
      {"I-SUMa",
       {[] {
          return check_table({kGap, as_printed("1.4")});
        },
        [] {
          return check_table({kGap, as_printed("1.5")});
        }}},
      {"I-SUMb",
       {[] {
          return check_table({kFinalLoss, Enclosure(0)});
        },
        [] {
          return check_table({kFinalLoss, Enclosure(1)});
        }}},
      {"I-SUMc",
       {[] {
          return check_table({kListedSteps, Enclosure(Rational{768, 10'000})});
        },
        [] {
          return check_table({kExplainedShare, Enclosure(1)});
        }}},
      {"I-SUMc'",
       {[] {
          return check_table({kExplainedShare, as_printed("0.096")});
        },
        [] {
          return check_table({kExplainedShare, as_printed("0.097")});
        }}},
      {"I-SUMc', the last step",
       {[] {
          return check_table({kLastStep, Enclosure(Rational{7231, 10'000})});
        },
        [] {
          return check_table({kLastStep, Enclosure(Rational{768, 10'000})});
        }}},
      {"I-SUMd",
       {[] {
          return check_table({kOtherNames, Enclosure(4)});
        },
        [] {
          return check_table({kOtherNames, Enclosure(0)});
        }}},
      {"I-SUMd'",
       {[] {
          return check_table({kOtherNames, Enclosure(4)});
        },
        [] {
          return check_table({kOtherNames, Enclosure(3)});
        }}},
      {"I-SUMe",
       {[] {
          return check_table({kExpansion, Enclosure(4)});
        },
        [] {
          return check_table({kExpansion, Enclosure(Rational{4, 3})});
        }}},
      {"I-SUMe'",
       {[] {
          return check_table({kExpansion, Enclosure(4)});
        },
        [] {
          return check_table({kExpansion, Enclosure(3)});
        }}},
  };
}

}  // namespace kappascope::theory
