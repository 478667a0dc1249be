// SPDX-License-Identifier: Apache-2.0
#include "lab/theory/twins/twins.h"
#include "theory/checks/costs/added_parameters.h"
#include "theory/checks/costs/printed_settings.h"

namespace kappascope::theory {
namespace {

Rational one_in(std::int64_t times, const LayerSizes& at) {
  return Rational(std::int64_t{1}, times * at.d);
}

Rational spatial(std::int64_t times, const LayerSizes& at) {
  return Rational(times * at.f, 3 * at.d);
}

Rational branch(std::int64_t shifts, const LayerSizes& at) {
  return Rational(2 * at.d * at.k + shifts * at.k + 1, 3 * at.d * at.f);
}

AddedShare with(Rational (*share)(std::int64_t, const LayerSizes&), std::int64_t number) {
  return [=](const LayerSizes& at) { return share(number, at); };
}

}  // namespace

Twins costs_twins() {
  using enum Addition;
  return {
      {"P-COST",
       {[] { return check_added_share(kPostGatingBias, with(one_in, 3)); },
        [] { return check_added_share(kPostGatingBias, with(one_in, 2)); }}},
      {"P-COST, next to nothing",
       {[] {
          return check_added_at_most(kPostGatingBias, {1, 100}, bias_sizes());
        },
        [] {
          return check_added_at_most(kPostGatingBias, {1, 1000}, bias_sizes());
        }}},
      {"A-COST",
       {[] { return check_spatial_costs_more(3072); },
        [] { return check_spatial_costs_more(1391); }}},
      {"A-COST'",
       {[] { return check_added_share(kSpatialPart, with(spatial, 2)); },
        [] { return check_added_share(kSpatialPart, with(spatial, 1)); }}},
      {"I-COST",
       {[] { return check_added_share(kIsotropyBranch, with(branch, 2)); },
        [] { return check_added_share(kIsotropyBranch, with(branch, 1)); }}},
      {"I-COST, how much",
       {[] {
          return check_added_at_most(kIsotropyBranch, {1, 10}, branch_sizes());
        },
        [] {
          return check_added_at_most(kIsotropyBranch, {1, 20}, branch_sizes());
        }}},
      {"A-SHAPE",
       {[] { return check_composes(rows_compose, {Operand::kColumns}); },
        [] {
          return check_composes([](Operand, int, int) { return true; }, {Operand::kColumns});
        }}},
      {"A-SHAPE'",
       {[] {
          return check_composes(rows_compose, {Operand::kRows, Operand::kColumns});
        },
        [] {
          return check_composes([](Operand, int d, int f) { return d == f; }, {Operand::kRows});
        }}},
      {"A-PPL",
       {[] {
          return check_perplexity({{"5.08", Enclosure(159, 162)}});
        },
        [] {
          return check_perplexity({{"5.08", Enclosure(137, 140)}});
        }}},
      {"I-WARM",
       {[] { return check_highest_rate(derived_highest_rate, {399}); },
        [] { return check_highest_rate([](int, int) { return Rational(1); }, {399}); }}},
      {"I-WARM'",
       {[] {
          return check_highest_rate(derived_highest_rate, {1, 4000, 4001});
        },
        [] {
          return check_highest_rate([](int steps, int warmup) { return Rational(steps, warmup); },
                                    {1, 4000, 4001});
        }}},
  };
}

}  // namespace kappascope::theory
