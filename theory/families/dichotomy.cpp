// SPDX-License-Identifier: Apache-2.0
// "Post-Gating Bias", its first sentences: which of the two, attention or the gated product, can
// make a constant offset (sections 3.1 and 3.2), and whether b softens transitions (abstract).
#include "theory/checks/dichotomy/odd_attention.h"
#include "theory/checks/dichotomy/plain_stack.h"
#include "theory/checks/offset_routes/boundaries.h"
#include "theory/checks/offset_routes/constant_makers.h"
#include "theory/checks/offset_routes/norm_offset.h"
#include "theory/families/families.h"
#include "theory/tools/conditions.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr const char* kBiasFree =
    "no bias anywhere, so no shift in the norm in front either (an offset that is put in is passed "
    "on, P-ATTa); RMS-normalised tokens, ‖x‖² = d, and with every sequence X also -X";

Verdict decide_published(const CheckContext& context) {
  return with_condition(
      conjunction({check_makes_constant(always_makes_constant, context.seed),
                   check_constant_makers(no_constant, context.seed)}),
      "the other way round: attention makes none but zero on such inputs (it can where some u has "
      "xu = 1 for every token), and a gated layer makes any with 2d units");
}

Verdict decide_derived(const CheckContext& context) {
  const auto seed = context.seed;
  const auto shifted = [](NormKind kind) { return kind == NormKind::kLayerNorm; };
  return proven(conjunction({check_odd(odd_without_value_bias, seed),
                             check_makes_constant(symmetric_makes_none, seed),
                             check_constant_builder(mirrored_units, seed),
                             check_own_constant(shifted)}));
}

constexpr const char* kTwoLayers =
    "two ReLU-gated layers without a norm between, at given weights; that training chooses b so is "
    "not decided here";

Verdict decide_softening(const CheckContext& context) {
  const auto always = [](const Perturbation&) { return std::optional(true); };
  return with_condition(check_softens(always, context.seed),
                        "either way: it depends on which side of the next gate b moves the input");
}

Verdict decide_derived_softening(const CheckContext& context) {
  const auto unchanged = [](const Rational& without) { return without; };
  return conjunction(
      {check_own_change(unchanged, context.seed), check_perturbations(perturbations())});
}

}  // namespace

std::vector<Claim> dichotomy_claims() {
  return {
      {.id = "P-ODD",
       .source = "Post-gating bias, 3.1 (attention) and 3.2",
       .statement = "Constant offsets are recoverable throughout attention and not after gating, "
                    "read without the shift that the norm has in the display of 3.1: bias-free "
                    "attention makes a constant other than zero, a bias-free gated layer does not.",
       .assumptions = kBiasFree,
       .derivation = "For given scores the outputs are linear in W_VW_O: one linear system. For "
                     "the gated layer another, over its W_d. The witnesses in this order, both "
                     "for d = 2.",
       .standing = Standing::kNote,
       .check = decide_published},
      {.id = "P-ODD'",
       .source = "corrects P-ODD",
       .statement = "Bias-free attention is odd, A(-X) = -A(X), with any mask, rotary embedding, "
                    "query and key norm, cap, sink, dropout mask, shiftless norm in front and "
                    "residual path; with b_V exactly when b_VW_O, added up over the heads, is "
                    "zero, and with sinks or dropout on P when it is zero in each. So where -X is "
                    "an input with X it makes no constant but zero, while 2d bias-free gated "
                    "units make any.",
       .assumptions = "the first part for every X, with dropout for every mask, and with sinks "
                      "queries of one head that take every value whatever those of the others are; "
                      "the gated part on ‖x‖² = d",
       .derivation = "A score is a product of two forms that are odd in X, so P(-X) = P(X), and "
                     "V(-X) = -V(X). A constant k on X and -X has k = -k. The gated units: "
                     "x_j act(x_j) + (-x_j) act(-x_j) = x_j², which add up to d.",
       .check = decide_derived},
      {.id = "P-SOFT",
       .source = "Post-gating bias, abstract",
       .statement = "b softens sharp transitions: a change of the input changes the output no more "
                    "with b than without.",
       .assumptions = kTwoLayers,
       .derivation = "b moves the point at which the next layer is entered, up or down its slope. "
                     "The witness: x from 1 to 2 through two units with b = 1.",
       .check = decide_softening},
      {.id = "P-SOFT'",
       .source = "corrects P-SOFT",
       .statement = "A change of the layer's own output does not depend on b. That of the next "
                    "layer's can become larger and smaller: with all weights 1, x from 1 to 2 "
                    "gives 15 without b, 21 with b = 1 and 9 with b = -1.",
       .assumptions = kTwoLayers,
       .derivation = "Z + bW_d less Z' + bW_d. The numbers: (x² + b)² at 2 less at 1.",
       .check = decide_derived_softening},
      {.id = "P-FLAT",
       .source = "ours, why P-PLAIN is so",
       .statement = "L plain gated layers without bias, x -> ((xW_u) ⊙ act(xW_g))W_d one after the "
                    "other, are of order 2^L in the input: f(tx) = t^(2^L) f(x) for t > 0, and so "
                    "is the gradient of f by every weight. With a bias f(0) need not vanish, and "
                    "there is no such order.",
       .assumptions = "act the identity or ReLU; |silu(g)| and |gelu(g)| are at most |g|, so that "
                      "theirs are bounded by the same order",
       .derivation = "A layer is of order two, and of order two in a layer of order k is order 2k. "
                     "The identity holds for all weights, so it may be differentiated by them.",
       .check =
           [](const CheckContext& context) {
             return check_order_in_input(doubling_order, context.seed);
           }},
  };
}

}  // namespace kappascope::theory
