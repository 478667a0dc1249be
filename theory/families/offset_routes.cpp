// SPDX-License-Identifier: Apache-2.0
// "Post-Gating Bias", sections 1, 3 and 4: which parts of a network carry a constant offset, and
// what a post-gating bias adds to the functions a layer can make.
#include <utility>

#include "theory/checks/offset_routes/attention_offset.h"
#include "theory/checks/offset_routes/bias_classes.h"
#include "theory/checks/offset_routes/boundaries.h"
#include "theory/checks/offset_routes/constant_makers.h"
#include "theory/checks/offset_routes/gate_offset.h"
#include "theory/checks/offset_routes/norm_offset.h"
#include "theory/families/families.h"
#include "theory/tools/conditions.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr const char* kAttention = "Post-gating bias, 3.1 (attention)";
constexpr const char* kGating = "Post-gating bias, 3.2";
constexpr const char* kWeights = "P = M ⊙ softmax(scores), M the dropout mask; V gains 1cᵀ";
constexpr const char* kRoute =
    "P has rows that sum to one, then dropout with masks {0, 1/p}; "
    "Z = PVW_o";
constexpr const char* kLayer = "SiLU, GELU or ReLU gate, Z = (S + b)W_d, no dropout";
constexpr const char* kNormalised =
    "‖x‖² = d; S_j = (u_j·x) act(g_j·x), act SiLU or ReLU (the 2d units also with GELU)";
constexpr const char* kNoNormBetween = "the next layer reads Z, not normalised (see P-NORM')";

/// The routes on which the published statement is right, and the others.
Verdict reconstruct_where(bool within, const CheckContext& context) {
  std::vector<OutputRoute> kept;
  for (auto& route : output_routes(context.seed)) {
    if (reconstructs(route) == within) kept.push_back(std::move(route));
  }
  return check_reconstruction(always_reconstructs, kept);
}

Verdict decide_transmission(const CheckContext& context) {
  return holds_under(
      "every row of P sums to one: for softmax as written, with any mask that "
      "leaves a token; not with dropout on P, an attention sink, or a row masked "
      "as a whole",
      check_transmitted(one_copy_a_row, plain_attention(context.seed)),
      check_transmitted(one_copy_a_row, altered_attention(context.seed)));
}

Verdict decide_derived_transmission(const CheckContext& context) {
  auto cases = plain_attention(context.seed);
  for (auto& one : altered_attention(context.seed)) cases.push_back(std::move(one));
  return check_transmitted(row_sums_of_weights, cases);
}

Verdict decide_reconstruction(const CheckContext& context) {
  return holds_under(
      "the wanted offset lies in the row space of W_o (any does exactly when rank "
      "W_o = d_model) and P has no dropout; with dropout, as in section 4, only "
      "its expectation is right, and row i gets it with variance (1-p)/p Σ_j P_ij² "
      "times its square",
      reconstruct_where(true, context),
      reconstruct_where(false, context));
}

Verdict decide_derived_reconstruction(const CheckContext& context) {
  const auto routes = output_routes(context.seed);
  return conjunction(
      {check_reconstruction(reconstructs, routes), check_row_sum(inverted_row_sum, routes)});
}

Verdict decide_gate(const CheckContext& context) {
  const auto never = [](const InputOffset&) { return false; };
  return holds_under(
      "act(0) = 0, as for SiLU, GELU, ReLU and the bilinear gate, and x in all of R^d; a logistic "
      "gate with g = 0 passes it, and on few inputs it can survive by chance",
      check_offset_survives(never, offsets_at_silent_gates(context.seed)),
      conjunction({check_offset_survives(never, offsets_at_logistic_gates(context.seed)),
                   check_offset_survives(never, offsets_at_two_inputs())}));
}

Verdict decide_constants(const CheckContext& context) {
  return with_condition(check_constant_makers(no_constant, context.seed),
                        "2d units make any constant of RMS-normalised input, fewer cannot; given "
                        "units can exactly when they satisfy the equations of P-DIM'. 3.2 means "
                        "it of the features' directions; elsewhere the document too says that "
                        "weights alone can make up for a bias");
}

Verdict decide_derived_constants(const CheckContext& context) {
  return conjunction({check_constant_makers(balanced, context.seed),
                      check_constant_makers(too_few_units, context.seed),
                      check_constant_builder(mirrored_units, context.seed)});
}

Verdict decide_expressivity(const CheckContext& context) {
  return with_condition(check_replaceable(always_replaceable, context.seed),
                        "where x = 0 is an input, exactly when bW_d = 0, whatever the width; on "
                        "RMS-normalised input with 2d units more, and at the same width not "
                        "always: a constant takes 2d units");
}

Verdict decide_derived_expressivity(const CheckContext& context) {
  return conjunction({check_replaceable(replaceable, context.seed),
                      check_constant_makers(too_few_units, context.seed)});
}

Verdict decide_output_bias(const CheckContext& context) {
  std::vector<OutputBias> inside, outside;
  for (auto& one : output_biases(context.seed)) {
    (absorbs(one) ? inside : outside).push_back(std::move(one));
  }
  return holds_under(
      "c in the row space of W_d; for every c exactly when rank W_d = d_model, so "
      "d_ff >= d_model; always with one unit more",
      check_absorbed(absorbs_always, inside),
      check_absorbed(absorbs_always, outside));
}

Verdict decide_derived_output_bias(const CheckContext& context) {
  return conjunction({check_absorbed(absorbs, output_biases(context.seed)),
                      check_absorbs_all(full_row_space, context.seed),
                      check_output_bias_builder(one_more_unit, context.seed)});
}

Verdict decide_norms(const CheckContext& context) {
  return with_condition(conjunction({check_own_constant([](NormKind) { return true; }),
                                     check_norm_offset(carried, context.seed)}),
                        "LayerNorm has a bias, RMSNorm as published a gain only; N(x + c) - N(x) "
                        "does not depend on x exactly when c = 0, or for LayerNorm c is a "
                        "multiple of 1, which it removes");
}

Verdict decide_derived_norms(const CheckContext& context) {
  return conjunction(
      {check_own_constant([](NormKind kind) { return kind == NormKind::kLayerNorm; }),
       check_norm_offset(fate, context.seed)});
}

Verdict decide_boundaries(const CheckContext& context) {
  return holds_under(
      "of the gates of later layers, in the next one by bW_dW_g', so exactly when "
      "that is not zero; its own gates do not see b",
      check_boundary_moves(boundary_moves, Place::kNext, context.seed),
      check_boundary_moves(moves_with_bias, Place::kOwn, context.seed));
}

Verdict decide_derived_boundaries(const CheckContext& context) {
  return conjunction({check_boundary_shift(boundary_shift, context.seed),
                      check_boundary_moves(boundary_moves, Place::kNext, context.seed),
                      check_boundary_moves(boundary_moves, Place::kOwn, context.seed)});
}

std::vector<Claim> attention_claims() {
  return {
      {.id = "P-ATTa",
       .source = kAttention,
       .statement = "Attention transmits a constant offset of V exactly: A gains 1cᵀ.",
       .assumptions = kWeights,
       .derivation = "A gains (P1)cᵀ, with rational weights in place of e^{score}. The witness is "
                     "one token with dropout on P at p = 9/10.",
       .check = decide_transmission},
      {.id = "P-ATTa'",
       .source = "corrects P-ATTa",
       .statement = "A gains (P1)cᵀ: row i gets Σ_j P_ij copies of c.",
       .assumptions = kWeights,
       .derivation = "P(V + 1cᵀ) - PV, with dropout, sinks, causal masks and empty rows.",
       .check = decide_derived_transmission},
      {.id = "P-ATTb",
       .source = kAttention,
       .statement = "So a constant offset of V can give every row of Z any wanted constant.",
       .assumptions = kRoute,
       .derivation = "One linear system for c over all rows and all masks. The witness: p = 9/10, "
                     "the dropout of section 4, on a single token.",
       .check = decide_reconstruction},
      {.id = "P-ATTb'",
       .source = "corrects P-ATTb",
       .statement = "Some c gives every row of Z the wanted constant z exactly when z = 0, or z is "
                    "in the row space of W_o and p = 1. With dropout a row's sum has mean 1 and "
                    "variance (1-p)/p Σ_j P_ij².",
       .assumptions = kRoute,
       .derivation = "A mask that drops a whole row transmits nothing, so z ≠ 0 needs p = 1, and "
                     "then W_oᵀc = z. The moments are sums over all masks.",
       .check = decide_derived_reconstruction},
  };
}

std::vector<Claim> gate_claims() {
  return {
      {.id = "P-GATE",
       .source = kGating,
       .statement = "The gated product destroys constant offsets: Z(x + c) - Z(x) is never a "
                    "constant other than zero.",
       .assumptions = "b = 0; any number of units",
       .derivation = "If it were k, Z(nc) = nk for all n, yet Z(nc) is n²L + o(1). Decided on "
                     "formal sums of σ(t) or Φ(t). Witnesses: a logistic gate; two inputs.",
       .check = decide_gate},
      {.id = "P-GATE'",
       .source = "corrects P-GATE",
       .statement = "For one unit S_j(x + c) - S_j(x) is constant on R^d exactly when u = 0, g = 0 "
                    "or u·c = g·c = 0, and is then act(0) u·c.",
       .assumptions = "act bilinear, ReLU, SiLU, GELU or logistic",
       .derivation = "Where u·x and g·x vary independently act would have to be periodic; where "
                     "they are parallel, t act(t) would have to be affine and periodic.",
       .check =
           [](const CheckContext& context) {
             return check_unit_change(unit_change, context.seed);
           }},
      {.id = "P-DIM",
       .source = kGating,
       .statement = "Under gating no subspace is left that could carry an offset: without b no "
                    "W_d makes a constant other than zero.",
       .assumptions = kNormalised,
       .derivation = "x_j act(x_j) + (-x_j) act(-x_j) = x_j², and RMS-normalised input has "
                     "Σ x_j² = d. The witness is that layer for d = 2.",
       .standing = Standing::kNote,
       .check = decide_constants},
      {.id = "P-DIM'",
       .source = "corrects P-DIM",
       .statement = "2d units make any constant, fewer cannot. For d >= 2 some W_d does exactly "
                    "when Σ w_j sym(u_j g_jᵀ) = (2/d)I and Σ w_j u_j = 0 over the units of each g "
                    "up to sign (ReLU: of each line of g's, weighted by length) has a solution w. "
                    "Behind an RMSNorm with ε the constant comes times ms/(ms + ε).",
       .assumptions = kNormalised,
       .derivation = "The even and the odd part of Z. Each line of g's needs two units and gives "
                     "one sym(v gᵀ), with at most one positive eigenvalue, so d lines. Compared "
                     "with a linear system for W_d over sampled inputs.",
       .check = decide_derived_constants},
      {.id = "P-EXP",
       .source = "Post-gating bias, sections 5 and 6",
       .statement = "b leaves the functions that a layer can compute unchanged (and, in section 6, "
                    "restores affine freedom, which says the opposite).",
       .assumptions = kLayer,
       .derivation = "Without b Z(0) = 0 whatever the weights; with b Z(0) = bW_d.",
       .check = decide_expressivity},
      {.id = "P-EXP'",
       .source = "corrects P-EXP",
       .statement = "Where x = 0 is an input a layer with b is a bias-free one, of any width, "
                    "exactly when bW_d = 0. On ‖x‖² = d it is always one with 2d units more; a "
                    "constant is none with fewer than 2d units (SiLU or ReLU).",
       .assumptions = kLayer,
       .derivation = "Z(0), and the units of P-DIM' for the constant bW_d.",
       .check = decide_derived_expressivity},
  };
}

std::vector<Claim> bias_claims() {
  return {
      {.id = "P-OUT",
       .source = "ours: the control of every study",
       .statement = "An output bias c on Z gives the same functions as b: some b has "
                    "(S + b)W_d = SW_d + c.",
       .assumptions = "at given weights W_u, W_g, W_d",
       .derivation = "bW_d = c. Every b is an output bias, c = bW_d; not every c is a b.",
       .check = decide_output_bias},
      {.id = "P-OUT'",
       .source = "corrects P-OUT",
       .statement = "Some b makes c exactly when c lies in the row space of W_d, and every c "
                    "exactly when rank W_d = d_model; one further unit with S = 0 always does.",
       .assumptions = "at given weights W_u, W_g, W_d",
       .derivation = "bW_d = c is solved, and the layers are compared at inputs; the condition is "
                     "that c is orthogonal to the null space of W_d.",
       .check = decide_derived_output_bias},
      {.id = "P-NORM",
       .source = "Post-gating bias, abstract and section 1",
       .statement = "LayerNorm and RMSNorm both add a bias, and a normalisation preserves constant "
                    "offsets: N(x + c) - N(x) is a constant, not zero for c ≠ 0.",
       .assumptions = "ε >= 0, gain without zeros",
       .derivation = "N(x) + N(-x) is twice the norm's own constant. Square roots of different "
                     "square-free integers are independent, so values compare exactly.",
       .check = decide_norms},
      {.id = "P-NORM'",
       .source = "corrects P-NORM",
       .statement = "LayerNorm adds a constant of its own, RMSNorm as published (a gain) none. "
                    "Of an offset c ≠ 0, LayerNorm removes a multiple of 1; in every other case "
                    "N(x + c) - N(x) depends on x.",
       .assumptions = "ε >= 0, gain without zeros",
       .derivation = "Far from the origin N(x + c) - N(x) -> 0, so a constant it is only as zero.",
       .check = decide_derived_norms},
      {.id = "P-BND",
       .source = "Post-gating bias, abstract",
       .statement = "b shifts activation boundaries, where a gate's pre-activation is zero.",
       .assumptions = kNoNormBetween,
       .derivation = "S does not depend on b. The witness is the layer's own gate.",
       .check = decide_boundaries},
      {.id = "P-BND'",
       .source = "corrects P-BND",
       .statement = "b adds nothing to its own layer's pre-activations and bW_dW_g' to the next "
                    "layer's, whose boundaries it moves exactly where that is not zero.",
       .assumptions = kNoNormBetween,
       .derivation = "Pre-activations with b less those without, at several inputs.",
       .check = decide_derived_boundaries},
  };
}

}  // namespace

std::vector<Claim> offset_routes_claims() {
  auto claims = attention_claims();
  for (auto& claim : gate_claims()) claims.push_back(std::move(claim));
  for (auto& claim : bias_claims()) claims.push_back(std::move(claim));
  return claims;
}

}  // namespace kappascope::theory
