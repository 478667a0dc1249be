// SPDX-License-Identifier: Apache-2.0
// "Isotropy GMLP": what the branch guarantees, what else it is, and what its tables say.
#include <string>
#include <utility>

#include "theory/checks/isotropy/branch.h"
#include "theory/checks/isotropy/branch_offset.h"
#include "theory/checks/isotropy/branch_scale.h"
#include "theory/checks/isotropy/tables.h"
#include "theory/checks/isotropy/variance_ratio.h"
#include "theory/checks/studies/ratios.h"
#include "theory/exact/linalg.h"
#include "theory/families/families.h"
#include "theory/tools/conditions.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr const char* kBranch = "Isotropy GMLP, 3.2, equation 2";
constexpr const char* kNormalLosses =
    "the final loss varies normally over seeds, and independently; variance over seeds, tested at "
    "5 %, two-sided, by the ratio of the sample variances";
constexpr const char* kIsotropyCondition =
    "(tr M)²/(k tr M²), M = E zzᵀ, is at most r/k with r the rank of the centred projections "
    "P·W_iso·x of the tokens, r <= k-1: never 1; (k-1)/k, all but the direction that LayerNorm "
    "removes, exactly when M is a multiple of a projector of rank k-1, which W_iso and the tokens "
    "decide; with k = 2 or W_iso of rank one all tokens land on one line, and at ε = 0 on two "
    "points of it. LayerNorm's own shift can fill the missing direction: with k = 2, β = (1, 1) "
    "and both points equally often it does";
constexpr const char* kPrintedNumbers =
    "each printed number stands for all that round to it; a row of Table 1 adds one change, as its "
    "plus sign says";
constexpr int kCases = 2200;

/// All that a LayerNorm of k entries can reach: (k-1)/k, whatever the weights and the tokens.
Enclosure all_but_one_direction(const BranchCase& one) {
  const Index k = one.dimension();
  return Enclosure(Rational(k - 1, k));
}

Verdict decide_isotropy(const CheckContext& context) {
  const auto isotropic = [](const BranchCase&) { return Enclosure(1); };
  auto wide = branch_cases(context.seed, kCases);
  std::erase_if(wide, [](const BranchCase& one) { return one.dimension() < 3; });
  return conjunction({check_isotropy(isotropic, branch_cases(context.seed, kCases)),
                      check_isotropy(all_but_one_direction, wide),
                      check_mean_cosine(0)});
}

Verdict decide_derived_isotropy(const CheckContext& context) {
  const auto one_line = [](const BranchCase& one) {
    return Enclosure(Rational(1) / one.dimension());
  };
  return conjunction({check_isotropy(derived_isotropy, branch_cases(context.seed, kCases)),
                      check_isotropy(all_but_one_direction, even_cases()),
                      check_isotropy(one_line, concentrated_cases()),
                      check_mean_cosine(1)});
}

Verdict decide_variance_reduction() {
  const Rational published(85, 100), power(80, 100);
  return conjunction({check_variance_findings({{5, published, true}}),
                      check_power({{5, published, power, true}})});
}

Verdict decide_derived_variance_reduction() {
  const Rational published(85, 100), power(80, 100);
  return conjunction({check_variance_findings({{5, published, false},
                                               {5, {104, 1000}, true},
                                               {5, {105, 1000}, false},
                                               {583, published, false},
                                               {585, published, true}}),
                      check_power({{5, published, {51, 1000}, true},
                                   {5, published, {52, 1000}, false},
                                   {1189, published, power, false},
                                   {1191, published, power, true}})});
}

std::vector<Claim> branch_claims() {
  return {
      {.id = "I-ISOa",
       .source = kBranch,
       .statement = "The branch guarantees isotropy: LayerNorm of a projection is isotropic.",
       .assumptions = "any W_iso and any tokens, not all of them with constant projections; before "
                      "the bias of LayerNorm; σ(t) cancels",
       .derivation = "LayerNorm fixes the length of each output and takes one direction out; the "
                     "others it leaves as W_iso and the tokens made them. Witnesses: isotropic in "
                     "all k directions, isotropic in the k-1 that are left, and mean cosine zero.",
       .check =
           [](const CheckContext& context) {
             return with_condition(decide_isotropy(context), kIsotropyCondition);
           }},
      {.id = "I-ISOa'",
       .source = "corrects I-ISOa",
       .statement = "1/k <= (tr M)²/(k tr M²) <= r/k for M = E zzᵀ of the branch's outputs, r <= "
                    "k-1 the rank of the centred projections of the tokens; both ends occur, and "
                    "tokens whose centred projections lie on one ray have mean cosine 1.",
       .assumptions = "as I-ISOa; any gain without zeros, any ε >= 0",
       .derivation = "M is a sum of positive multiples of ĥĥᵀ, so its rank is r, and (tr M)² <= "
                     "rank M·tr M². A covariance is M less a positive semidefinite matrix: its "
                     "rank is no larger.",
       .check = decide_derived_isotropy},
      {.id = "I-BIAS",
       .source = kBranch,
       .statement = "The branch adds nothing but isotropy: no offset of the layer's output.",
       .assumptions = "LayerNorm with its own gain and bias, as it is commonly built; the document "
                      "does not say so in words",
       .derivation = "σ(t)·W_branch·β does not depend on the token: it is an output bias, also "
                     "where the gated path is silent.",
       .standing = Standing::kNote,
       .check =
           [](const CheckContext& context) {
             return with_condition(
                 check_offset(
                     [](const BranchLayer&, const Vector<Rational>& offset) {
                       return offset.squared_norm() == 0;
                     },
                     context.seed),
                 "β adds exactly the vectors of the range of W_branch: none but zero only when "
                 "W_branch = 0, and every one exactly when rank W_branch = d_model, so never for "
                 "k < d_model");
           }},
      {.id = "I-BIAS'",
       .source = "corrects I-BIAS",
       .statement =
           "The bias of the branch's LayerNorm is an output bias: it makes an offset "
           "exactly when that lies in the range of W_branch, and every offset exactly when "
           "rank W_branch = d_model.",
       .assumptions = "as I-BIAS, σ(t) > 0",
       .derivation = "Solved for β, and the layer run with it and without.",
       .check =
           [](const CheckContext& context) {
             return conjunction({check_offset(offset_in_range, context.seed),
                                 check_any_offset(
                                     [](const BranchLayer& layer) {
                                       return rank(layer.branch) == layer.dimension();
                                     },
                                     context.seed)});
           }},
  };
}

/// The document's statement where every output has one length, and on the other cases.
Verdict decide_scale(const CheckContext& context) {
  const auto one_length = [](const BranchCase& one, Index) {
    return Enclosure(one.gain(0) * one.gain(0) * one.dimension());
  };
  auto even = branch_cases(context.seed, kCases);
  std::vector<BranchCase> others;
  std::erase_if(even, [&](const BranchCase& one) {
    if (!has_even_scale(one)) others.push_back(one);
    return !has_even_scale(one);
  });
  return holds_under(
      "the gains have one magnitude, ε is nothing beside the variance of the projection, and no "
      "token has a constant one: then each length is |γ|√k. Where gains were learned, tokens "
      "differ "
      "by up to max |γ_i| / min |γ_i|",
      check_length(one_length, even),
      check_length(one_length, others));
}

std::vector<Claim> scale_claims() {
  return {
      {.id = "I-SCALE",
       .source = "Isotropy GMLP, 5.2",
       .statement =
           "LayerNorm on the branch keeps its scales consistent: the outputs of all tokens "
           "have one length.",
       .assumptions = "before the bias of LayerNorm and σ(t), which is one number for all tokens",
       .derivation = "LayerNorm divides by the root of variance + ε, and then multiplies entry by "
                     "entry with γ.",
       .check = decide_scale},
      {.id = "I-SCALE'",
       .source = "corrects I-SCALE",
       .statement = "The squared length of γ ⊙ z is between min γ² and max γ² times k·v/(v + ε), v "
                    "the variance of the entries of W_iso x.",
       .assumptions = "any gain without zeros, any ε >= 0; a token with v = 0 has z = 0",
       .derivation = "z has squared length k·v/(v + ε), and each of its entries is multiplied by "
                     "one of γ.",
       .check =
           [](const CheckContext& context) {
             return check_length(derived_length, branch_cases(context.seed, kCases));
           }},
      {.id = "I-TEMP",
       .source = "ours, beside equation 2",
       .statement = "The learned temperature adds no function: with W_branch times σ(t) for "
                    "W_branch, and 1 for σ(t), the layer has the same outputs.",
       .assumptions = "W_down is a matrix without a constraint of its own, of which W_branch are "
                      "the columns of the branch. What t changes is how they are trained",
       .derivation = "W_down reads the branch linearly, and σ(t) is one number.",
       .check =
           [](const CheckContext& context) {
             return check_temperature(absorbed_temperature, context.seed);
           }},
  };
}

std::vector<Claim> result_claims() {
  return {
      {.id = "I-VAR",
       .source = "Isotropy GMLP, 4.3 and 5.2",
       .statement = "The experiment of five seeds shows that the branch reduces the variance of "
                    "the loss by 15 %.",
       .assumptions = kNormalLosses,
       .derivation =
           "F has (4, 4) degrees of freedom and P(F <= f) = 3x² - 2x³, x = f/(1+f): an "
           "observed ratio of 0.85 is no evidence, and a true one would be found in 5.2 % "
           "of such experiments. Whether there is an effect stays open.",
       .standing = Standing::kNote,
       .studies = {"isogmlp"},
       .check =
           [](const CheckContext&) {
             return with_condition(
                 decide_variance_reduction(),
                 "five runs an arm show an observed ratio of 0.104 or less, not 0.105; a "
                 "true ratio of 0.85 is found with 80 % power from 1191 runs an arm on "
                 "(1189 are too few)");
           },
       .measure =
           [](const StudyRuns& study) {
             return check_less_spread(study, {store::id::kLossTest, "IsoGMLP", "no branch"}, 0.85);
           }},
      {.id = "I-VAR'",
       .source = "corrects I-VAR",
       .statement =
           "With five runs an arm an observed ratio of 0.104 is evidence and one of 0.105 "
           "is not, and a true ratio of 0.85 is found with a power between 5.1 % and "
           "5.2 %. Observed, 0.85 is evidence with 585 runs an arm and not with 583; true, "
           "it is found with 80 % power with 1191 and not with 1189.",
       .assumptions = kNormalLosses,
       .derivation = "For odd n the distribution of F is a binomial tail, in fractions; its "
                     "quantile lies between two of them.",
       .check = [](const CheckContext&) { return decide_derived_variance_reduction(); }},
  };
}

/// One printed number, recomputed.
Claim table_claim(std::string id,
                  std::string source,
                  std::string statement,
                  TableStatement says,
                  std::string condition = {}) {
  return {.id = std::move(id),
          .source = std::move(source),
          .statement = std::move(statement),
          .assumptions = kPrintedNumbers,
          .derivation = "The printed numbers, recomputed.",
          .check = [says = std::move(says), condition = std::move(condition)](const CheckContext&) {
            return with_condition(check_table(says), condition);
          }};
}

std::vector<Claim> table_claims() {
  using enum TableQuantity;
  constexpr const char* kRows = "Isotropy GMLP, Table 1";
  constexpr const char* kNames = "Isotropy GMLP, Tables 1 and 2";
  constexpr const char* kSizes = "Isotropy GMLP, 3.3 and 4.1";
  return {
      table_claim("I-SUMa",
                  "Isotropy GMLP, 6.1",
                  "4.997 against 4.9266 is a gap of 1.4 %.",
                  {kGap, as_printed("1.4")},
                  "1.43 %"),
      table_claim(
          "I-SUMb", kNames, "The two tables have one final loss.", {kFinalLoss, Enclosure(0)}),
      table_claim(
          "I-SUMc",
          kRows,
          "The rows of Table 1, a change each, make up the improvement.",
          {kExplainedShare, Enclosure(1)},
          "the rows that name a change make up less than a tenth; the last step names none"),
      table_claim("I-SUMc'",
                  "corrects I-SUMc",
                  "The rows that name a change improve the loss by 0.0768, 9.6 % of the whole.",
                  {kExplainedShare, as_printed("0.096")}),
      table_claim("I-SUMd",
                  kNames,
                  "One loss is that of one configuration, under one name.",
                  {kOtherNames, Enclosure(0)},
                  "four losses of Table 1 stand under other names in Table 2"),
      table_claim("I-SUMd'",
                  "corrects I-SUMd",
                  "The tables share four losses, and name none of these configurations alike.",
                  {kOtherNames, Enclosure(4)}),
      table_claim(
          "I-SUMe",
          kSizes,
          "The hidden dimension has the expansion factor 4/3.",
          {kExpansion, Enclosure(Rational{4, 3})},
          "the printed dimensions, 3072 and 768, give another; 4/3 is that of a width 1024"),
      table_claim("I-SUMe'",
                  "corrects I-SUMe",
                  "The printed dimensions make the expansion factor 4.",
                  {kExpansion, Enclosure(4)}),
  };
}

}  // namespace

std::vector<Claim> isotropy_claims() {
  auto claims = branch_claims();
  for (auto& claim : scale_claims()) claims.push_back(std::move(claim));
  for (auto& claim : result_claims()) claims.push_back(std::move(claim));
  for (auto& claim : table_claims()) {
    if (claim.id == "I-SUMd" || claim.id == "I-SUMe") claim.standing = Standing::kNote;
    claims.push_back(std::move(claim));
  }
  return claims;
}

}  // namespace kappascope::theory
