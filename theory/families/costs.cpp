// SPDX-License-Identifier: Apache-2.0
// What the additions of the documents cost, and what their printed settings say together.
#include "theory/checks/costs/added_parameters.h"
#include "theory/checks/costs/printed_settings.h"
#include "theory/families/families.h"
#include "theory/tools/conditions.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr const char* kCounted =
    "parameters beyond those of W_g, W_u and W_d; each is in one multiplication or addition a "
    "token";

Rational bias_share(const LayerSizes& at) {
  return Rational(std::int64_t{1}, 3 * at.d);
}

Rational spatial_share(const LayerSizes& at) {
  return Rational(2 * at.f, 3 * at.d);
}

Rational branch_share(const LayerSizes& at) {
  return Rational(2 * at.d * at.k + 2 * at.k + 1, 3 * at.d * at.f);
}

Verdict decide_bias(const CheckContext& /*context*/) {
  return with_condition(
      conjunction({check_added_share(Addition::kPostGatingBias, bias_share),
                   check_added_at_most(Addition::kPostGatingBias, {1, 100}, bias_sizes())}),
      "one parameter in 3d, and as many additions a token: 0.06 % at d = 576, 0.5 % at d = 64. The "
      "time that a step takes is not in this count");
}

std::vector<Claim> cost_claims() {
  return {
      {.id = "P-COST",
       .source = "Post-gating bias, abstract and section 1",
       .statement = "A post-gating bias costs next to nothing: less than 1 % of the layer at the "
                    "sizes of the document.",
       .assumptions = kCounted,
       .derivation = "b has f entries and the layer 3df.",
       .check = decide_bias},
      {.id = "A-COST",
       .source = "ASGER, 5.3",
       .statement = "Spatial components increase the computational overhead.",
       .assumptions = kCounted,
       .derivation = "3df + 2f² multiplications a token against 3dF. The other side is f = 1391, "
                     "the balanced width.",
       .check =
           [](const CheckContext&) {
             return holds_under(
                 "at the same width: 2f/(3d) more, 3.67 times as many at d = 768, f = 3072. At the "
                 "balanced width none (A-COUNT); time and memory are for A-MEM's study",
                 conjunction({check_added_share(Addition::kSpatialPart, spatial_share),
                              check_spatial_costs_more(3072)}),
                 check_spatial_costs_more(1391));
           }},
      {.id = "A-COST'",
       .source = "corrects A-COST",
       .statement = "At width f the spatial part adds the share 2f/(3d) of the layer.",
       .assumptions = kCounted,
       .derivation = "2f² over 3df.",
       .check =
           [](const CheckContext&) {
             return check_added_share(Addition::kSpatialPart, spatial_share);
           }},
      {.id = "I-COST",
       .source = "Isotropy GMLP, 1.3",
       .statement = "The branch maintains computational efficiency: it adds less than a tenth of "
                    "the layer.",
       .assumptions = kCounted,
       .derivation = "2dk + 2k + 1 parameters over 3df, k an eighth of 768 or of 3072.",
       .check =
           [](const CheckContext&) {
             return with_condition(
                 conjunction(
                     {check_added_share(Addition::kIsotropyBranch, branch_share),
                      check_added_at_most(Addition::kIsotropyBranch, {1, 10}, branch_sizes())}),
                 "2.1 % for k = 96 and 8.3 % for k = 384; time is not in this count");
           }},
  };
}

std::vector<Claim> setting_claims() {
  return {
      {.id = "A-SHAPE",
       .source = "ASGER, 3.3 and 3.4",
       .statement = "Equation 3 can be evaluated with the printed shapes.",
       .assumptions =
           "W_g, W_u of [d, f], W_s, V_s of [f, f], W_d of [f, d]; a token has d entries",
       .derivation =
           "W_g x is defined for a column x of f entries. Read with rows, xW_g, all fits.",
       .standing = Standing::kNote,
       .check =
           [](const CheckContext&) {
             const auto fits = [](Operand, int, int) { return true; };
             return holds_under("tokens are rows and W_g x means xW_g",
                                check_composes(fits, {Operand::kRows}),
                                check_composes(fits, {Operand::kColumns}));
           }},
      {.id = "A-SHAPE'",
       .source = "corrects A-SHAPE",
       .statement = "With rows the shapes always compose, with columns exactly when d = f.",
       .assumptions = "as A-SHAPE",
       .derivation = "The inner dimensions, one product after another.",
       .check =
           [](const CheckContext&) {
             return check_composes(rows_compose, {Operand::kRows, Operand::kColumns});
           }},
      {.id = "A-PPL",
       .source = "ASGER, 4.2",
       .statement =
           "Performance is measured by validation perplexity: 159 to 162 for ASGER and 137 "
           "to 140 for SwiGLU.",
       .assumptions = "the printed losses 5.08 and 4.93 are means in nats a token",
       .derivation = "e^loss. The section announces perplexity and the tables print losses alone.",
       .standing = Standing::kNote,
       .check =
           [](const CheckContext&) {
             return with_condition(
                 check_perplexity({{"5.08", Enclosure(159, 162)}, {"4.93", Enclosure(137, 140)}}),
                 "computed from the losses: no perplexity is printed");
           }},
      {.id = "I-WARM",
       .source = "Isotropy GMLP, 4.2",
       .statement = "The training warms up over 4,000 steps and then decays.",
       .assumptions = "linear warm-up; the number of steps is not printed",
       .derivation = "The rate is step/4000 of its peak until then. ASGER's paper, with the same "
                     "SwiGLU baseline (4.93) on the same data, prints 399 steps: the other side.",
       .check =
           [](const CheckContext&) {
             const auto peak = [](int, int) { return Rational(1); };
             return holds_under(
                 "the run is longer than 4,000 steps; a run of the 399 steps that ASGER's paper "
                 "prints ends at a tenth of the rate and never decays",
                 check_highest_rate(peak, {4000, 4001, 10'000}),
                 check_highest_rate(peak, {399}));
           }},
      {.id = "I-WARM'",
       .source = "corrects I-WARM",
       .statement = "Within n steps the rate reaches min(n/4000, 1) of its peak, so 399/4000 with "
                    "399 steps: 6·10⁻⁵ in place of 6·10⁻⁴.",
       .assumptions = "as I-WARM",
       .derivation = "The schedule, step by step.",
       .check =
           [](const CheckContext&) {
             return check_highest_rate(derived_highest_rate, {1, 399, 1000, 3999, 4000, 4001});
           }},
  };
}

}  // namespace

std::vector<Claim> costs_claims() {
  auto claims = cost_claims();
  for (auto& claim : setting_claims()) claims.push_back(std::move(claim));
  return claims;
}

}  // namespace kappascope::theory
