// SPDX-License-Identifier: Apache-2.0
// "Bias redundancy": which biases in front of a softmax or a normalisation change nothing. A bias
// is redundant where the same function comes from other parameters without it, and strictly so
// where dropping it is enough.
#include <utility>

#include "theory/checks/bias_redundancy/before_norm.h"
#include "theory/checks/bias_redundancy/input_bias.h"
#include "theory/checks/bias_redundancy/reparametrisation.h"
#include "theory/families/families.h"
#include "theory/tools/conditions.h"
#include "theory/tools/tally.h"

namespace kappascope::theory {
namespace {

constexpr const char* kSoftmax = "Bias redundancy, 2.1, equation 1";
constexpr const char* kPractice = "Bias redundancy, 2.3";

constexpr const char* kKeyCondition =
    "exactly when b_K = 0, or there is no norm on the keys, no soft-capping, no attention sink "
    "with a logit of its own, and no rotary embedding on coordinates where b_K is not zero; a "
    "norm on the queries, a causal mask and dropout on P do not matter";
constexpr const char* kQueryCondition =
    "not redundant exactly when no u has xu = 1 for every input x and b_QᵀW_Kᵀ(x-x') ≠ 0 for some "
    "inputs; otherwise W_Q + u b_Qᵀ (or W_Q) replaces it. Behind LayerNorm with shift β and gain "
    "γ ≠ 0 such a u exists exactly when Σ β_j/γ_j ≠ 0; behind RMSNorm without β never";
constexpr const char* kPreNormShort =
    "b_V goes into b_O where the rows of P sum to one; a bias that reads a LayerNorm with shift β "
    "goes into its weights where Σ β_j/γ_j ≠ 0. Behind RMSNorm without β only b_V goes";
constexpr const char* kPreNormCondition =
    "b_V: redundant with b_O exactly when b_V W_O = 0 for every head, or neither dropout on P nor "
    "a sink keeps the rows of P from summing to one. A bias that reads the norm (Q, V, FFN's "
    "first): W + u bᵀ makes it exactly when γ_j = 0 ≠ β_j for some j, or the norm is LayerNorm, γ "
    "has no zeros and Σ β_j/γ_j ≠ 0. Δ with ΔᵀW_Q = b_Qᵀ makes it too, with β + Δ for β and b_O - "
    "W_OᵀW_VᵀΔ for b_O, where b_K goes free. b_O and FFN's second: their multiple of 1 where every "
    "norm that reads the residual stream is LayerNorm, nothing where one is RMSNorm";
constexpr const char* kBatchCondition =
    "in training always; in evaluation exactly when the running mean falls by b too, or b = 0. A "
    "network trained without b has a running mean that falls by b(1 - Π(1-α)) only, α the momenta "
    "of its batches: the same outputs exactly when bΠ(1-α) = 0, as with α = 1 for the first batch";
constexpr const char* kTokenCondition =
    "LayerNorm: exactly when b is a multiple of 1, so (1ᵀb/d)·1 is the part that is strictly "
    "redundant; RMSNorm: exactly when b = 0";

/// A statement that is right where `derived` says so and was published without that: the witness
/// is of the side where it fails.
Verdict holds_where_derived(const Verdict& published,
                            const Verdict& derived,
                            const char* condition) {
  Verdict verdict = published;
  const bool both_sides =
      published.outcome == Outcome::kRefuted && derived.outcome == Outcome::kHolds;
  verdict.outcome = both_sides ? Outcome::kHoldsUnder : Outcome::kUndecided;
  verdict.cases += derived.cases;
  verdict.condition = condition;
  return verdict;
}

/// `says` where the block has no more than what `only` allows, silence elsewhere.
template <typename Only>
BlockStatement where(const Only& only, bool says) {
  return [only, says](const BlockFacts& facts) {
    return only(facts.on) ? std::optional(says) : std::nullopt;
  };
}

int count(const Switches& on) {
  return on.rotary + on.query_norm + on.key_norm + on.cap + on.sink + on.causal + on.dropout;
}

/// One witness for each thing that alone makes b_K count.
Verdict decide_key_as_published(std::uint64_t seed) {
  std::vector<Verdict> parts;
  for (const auto only :
       {&Switches::sink, &Switches::cap, &Switches::key_norm, &Switches::rotary}) {
    const auto alone = [only](const Switches& on) { return on.*only && count(on) == 1; };
    parts.push_back(check_reparametrisation(without_key_bias(), where(alone, true), seed));
  }
  return conjunction(parts);
}

std::optional<bool> query_bias_needed(const QueryCase& one) {
  return one.bias.dot(one.bias) == 0;
}

Verdict decide_query(std::uint64_t seed) {
  return conjunction({check_query_bias(query_bias_replaceable, seed),
                      check_bias_reading_norm(norm_makes_constants, seed)});
}

Verdict decide_pre_norm_as_published(std::uint64_t seed) {
  const auto value_bias_needed = [](const BlockFacts& facts) -> std::optional<bool> {
    return !facts.value_bias_seen;
  };
  const auto never = [](const NormOutput& /*one*/) { return std::optional(false); };
  return conjunction(
      {check_bias_reading_norm(never, seed),
       check_reparametrisation(value_bias_moved_to_output(), value_bias_needed, seed)});
}

Verdict decide_pre_norm(std::uint64_t seed) {
  return conjunction({check_reparametrisation(value_bias_moved_to_output(), value_bias_moves, seed),
                      check_bias_reading_norm(norm_makes_constants, seed),
                      check_shift(absorb_shift, seed),
                      check_before_norm(norm_forgets, seed)});
}

/// One witness for each way in which evaluation sees the bias.
Verdict decide_batch_as_published(std::uint64_t seed) {
  std::vector<Verdict> parts;
  for (const auto only : {BatchMode::kMeanKept, BatchMode::kTrainedWithout}) {
    const auto same = [only](const BatchCase& /*one*/, BatchMode mode) {
      return mode == only ? std::optional(true) : std::nullopt;
    };
    parts.push_back(check_before_batch_norm(same, seed));
  }
  return conjunction(parts);
}

Verdict decide_tokens(std::uint64_t seed) {
  return conjunction(
      {check_before_norm(norm_forgets, seed), check_no_other_parameters(norm_forgets, seed)});
}

std::vector<Claim> attention_claims() {
  return {
      {.id = "Z-K",
       .source = kSoftmax,
       .statement = "Under softmax the bias b_K of the K projection is strictly redundant.",
       .assumptions = "queries and keys take every value (W_Q, W_K of full rank per head)",
       .derivation =
           "b_K adds qᵀb_K to every score of a row, which cancels. A sink does not get it, a cap "
           "and a norm are not linear, and rotary makes it qᵀR^{i-n}b_K, which depends on i. The "
           "witnesses in this order, with rotary as in all these models before the scores.",
       .check =
           [](const CheckContext& context) {
             return holds_where_derived(
                 decide_key_as_published(context.seed),
                 check_reparametrisation(without_key_bias(), key_bias_cancels, context.seed),
                 kKeyCondition);
           }},
      {.id = "Z-K'",
       .source = "corrects Z-K",
       .statement = "Dropping b_K changes no output exactly when b_K = 0, or the block has no norm "
                    "on the keys, no soft-capping, no sink with a logit of its own, and no rotary "
                    "embedding on coordinates where b_K is not zero.",
       .assumptions = "queries and keys take every value, those of one head whatever those of the "
                      "others are, and W_VW_O ≠ 0 in each; two tokens or more; a norm on the keys "
                      "is RMS; dropout masks are the same",
       .derivation = "softmax(s + δ) = softmax(s) exactly when δ is the same for all visible "
                     "tokens, and zero where there is a sink. All 2⁷ combinations of rotary, query "
                     "norm, key norm, cap, sink, causal mask and dropout: exactly on small blocks, "
                     "in floating point on random ones.",
       .check =
           [](const CheckContext& context) {
             return check_reparametrisation(without_key_bias(), key_bias_cancels, context.seed);
           }},
      {.id = "Z-Q",
       .source = kSoftmax,
       .statement = "The bias b_Q of the Q projection is not redundant.",
       .assumptions = "redundant: some W_Q, W_K without it give the same P for every sequence",
       .derivation = "b_Q adds b_Qᵀk_i, which depends on the token i. A linear map of the inputs "
                     "makes the same exactly when a constant is a linear function of them; the "
                     "witness stands behind LayerNorm with β ≠ 0.",
       .check =
           [](const CheckContext& context) {
             return holds_where_derived(check_query_bias(query_bias_needed, context.seed),
                                        decide_query(context.seed),
                                        kQueryCondition);
           }},
      {.id = "Z-Q'",
       .source = "corrects Z-Q",
       .statement =
           "Some W_Q, W_K without b_Q give the same P for every sequence exactly when some "
           "u has xu = 1 for every input x, or b_QᵀW_Kᵀ(x-x') = 0 for all inputs. Such a u "
           "exists behind a norm exactly when γ_j = 0 ≠ β_j for some j, or the norm is "
           "LayerNorm, γ has no zeros and Σ β_j/γ_j ≠ 0.",
       .assumptions = "for \"only when\": no rotary embedding, norm or cap between projections and "
                      "scores; W_Q + u b_Qᵀ serves with them too",
       .derivation = "P stays when xB(x'-x'')ᵀ = b_QᵀW_Kᵀ(x'-x'')ᵀ for all inputs, a linear system "
                     "in B = W_Q'W_K'ᵀ - W_QW_Kᵀ. Where it has a solution, W_Q + u b_Qᵀ is one.",
       .check = [](const CheckContext& context) { return decide_query(context.seed); }},
      {.id = "Z-PRE",
       .source = kPractice,
       .statement = "In pre-norm blocks no projection bias but that of K is redundant.",
       .assumptions = "redundant: the block without it has other parameters with the same outputs",
       .derivation = "Behind LayerNorm the inputs lie in a plane, which misses the origin for "
                     "nearly every β, so that W + u bᵀ makes any bias. And b_V goes into b_O, "
                     "because the rows of P sum to one. The witnesses in this order.",
       .check =
           [](const CheckContext& context) {
             return with_condition(decide_pre_norm_as_published(context.seed), kPreNormShort);
           }},
      {.id = "Z-PRE'",
       .source = "corrects Z-PRE",
       .statement = kPreNormCondition,
       .assumptions =
           "x = norm(h)∘γ + β; queries, keys and values take every value, those of one head "
           "whatever "
           "those of the others are; with dropout for every mask; for Q without rotary embedding, "
           "norm or cap the word \"exactly\" is Z-Q's",
       .derivation = "Exactly, on all 2⁷ combinations of switches (b_V), on norms with zeros in γ "
                     "and β (biases that read them: X(W'-W) = 1bᵀ), on blocks at β and β + Δ, and "
                     "in front of norms.",
       .check = [](const CheckContext& context) { return decide_pre_norm(context.seed); }},
      {.id = "Z-POST'",
       .source = "ours, beside Z-POST: its reason, that β can learn the shift, as algebra",
       .statement = "In a post-norm block b_Q, b_K, b_V and the second feed-forward bias b_2 are "
                    "redundant together where some Δ has ΔᵀW_Q = b_Qᵀ: with β + Δ and β' + b_2 for "
                    "the shifts of the two norms before, b_O + b_VW_O - Δ - W_OᵀW_VᵀΔ for b_O, and "
                    "b_1 - W_1ᵀb_2 for b_1.",
       .assumptions = "b_O, b_1 and shifts β are there; no rotary embedding, query or key norm, "
                      "cap, sink or dropout on P",
       .derivation = "x + Δ gives Q its bias, adds the same to every score of a row, adds W_VᵀΔ to "
                     "V, which the rows of P pass on, and Δ to the residual path.",
       .check =
           [](const CheckContext& context) {
             return check_post_norm(absorb_into_shifts, context.seed);
           }},
  };
}

std::vector<Claim> norm_claims() {
  return {
      {.id = "Z-BN",
       .source = "Bias redundancy, 2.2, equation 4",
       .statement = "A bias right before batch normalisation is strictly redundant.",
       .assumptions = "γ ≠ 0; in training and in evaluation; running means start at zero",
       .derivation =
           "In training the batch mean takes b away. In evaluation the running mean does, "
           "if it is the one that knows b.",
       .check =
           [](const CheckContext& context) {
             return holds_where_derived(decide_batch_as_published(context.seed),
                                        check_before_batch_norm(batch_norm_forgets, context.seed),
                                        kBatchCondition);
           }},
      {.id = "Z-BN'",
       .source = "corrects Z-BN",
       .statement = "Without b batch normalisation gives the same outputs: in training always; in "
                    "evaluation with the running mean lowered by b always, with the one recorded "
                    "with b exactly when b = 0, and with the one of a network trained without b "
                    "exactly when bΠ(1-α) = 0 over the momenta α of its batches.",
       .assumptions = "γ ≠ 0; the same batches; running means start at zero",
       .derivation = "The running mean after the batches holds b(1 - Π(1-α)). Compared exactly, "
                     "roots by their squares.",
       .check =
           [](const CheckContext& context) {
             return check_before_batch_norm(batch_norm_forgets, context.seed);
           }},
      {.id = "Z-LN",
       .source = "Bias redundancy, 2.2, equation 6",
       .statement = "A bias before layer normalisation is redundant, but not strictly.",
       .assumptions = "z takes every value; γ without zeros",
       .derivation = "LayerNorm takes the mean of b away and keeps the rest, which a β after the "
                     "root cannot make: the witness drops b = (1, 0).",
       .check =
           [](const CheckContext& context) {
             const auto in_layer_norm = [](const TokenCase& one) {
               return one.norm == Norm::kLayer ? std::optional(true) : std::nullopt;
             };
             return holds_where_derived(check_before_norm(in_layer_norm, context.seed),
                                        decide_tokens(context.seed),
                                        kTokenCondition);
           }},
      {.id = "Z-LN'",
       .source = "corrects Z-LN",
       .statement =
           "Dropping b before LayerNorm changes nothing exactly when b is a multiple of 1, "
           "before RMSNorm exactly when b = 0; for every other b no linear map of z, γ "
           "and β make up for it either.",
       .assumptions = "z takes every value; γ without zeros; ε > 0 for the last part",
       .derivation = "z = -b/2 is normalised to opposite vectors with and without b. A function "
                     "γ'norm(zA) + β' is odd about β', which would give norm(2b) = 2 norm(b).",
       .check = [](const CheckContext& context) { return decide_tokens(context.seed); }},
  };
}

}  // namespace

std::vector<Claim> bias_redundancy_claims() {
  auto claims = attention_claims();
  for (auto& claim : norm_claims()) claims.push_back(std::move(claim));
  return claims;
}

}  // namespace kappascope::theory
