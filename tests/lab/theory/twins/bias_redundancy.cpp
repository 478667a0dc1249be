// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <optional>

#include "lab/theory/twins/twins.h"
#include "theory/checks/bias_redundancy/before_norm.h"
#include "theory/checks/bias_redundancy/input_bias.h"
#include "theory/checks/bias_redundancy/reparametrisation.h"

namespace kappascope::theory {
namespace {

constexpr auto kSeed = kTwinSeed;

std::function<Verdict()> key(const BlockStatement& says) {
  return [says] { return check_reparametrisation(without_key_bias(), says, kSeed); };
}

std::function<Verdict()> value(const Reparametrisation& moved, const BlockStatement& says) {
  return [moved, says] { return check_reparametrisation(moved, says, kSeed); };
}

/// The right condition, blind for one switch.
template <typename Condition>
BlockStatement blind_for(const Condition& condition, bool Switches::*ignored) {
  return [condition, ignored](BlockFacts facts) {
    facts.on.*ignored = false;
    return condition(facts);
  };
}

Twins softmax_twins() {
  const auto ignores_rotation = [](BlockFacts facts) {
    facts.key_bias_turned = false;
    return key_bias_cancels(facts);
  };
  // A norm on the queries is harmless.
  const auto fears_query_norm = [](BlockFacts facts) {
    facts.on.key_norm |= facts.on.query_norm;
    return key_bias_cancels(facts);
  };
  const auto never_moves = [](const BlockFacts& facts) {
    return std::optional(!facts.value_bias_seen);
  };
  const auto moved = value_bias_moved_to_output();
  const auto only_dropped = reparametrisation([](auto block) {
    block.value_bias.set_zero();
    return block;
  });
  return {
      {"Z-K", {key(key_bias_cancels), key(ignores_rotation)}},
      {"Z-K, sink", {key(key_bias_cancels), key(blind_for(key_bias_cancels, &Switches::sink))}},
      {"Z-K, cap", {key(key_bias_cancels), key(blind_for(key_bias_cancels, &Switches::cap))}},
      {"Z-K, norm", {key(key_bias_cancels), key(blind_for(key_bias_cancels, &Switches::key_norm))}},
      {"Z-K'", {key(key_bias_cancels), key(fears_query_norm)}},
      {"Z-PRE", {value(moved, value_bias_moves), value(moved, never_moves)}},
      {"Z-PRE', without b_O",
       {value(moved, value_bias_moves), value(only_dropped, value_bias_moves)}},
      {"Z-PRE'",
       {value(moved, value_bias_moves),
        value(moved, blind_for(value_bias_moves, &Switches::dropout))}},
  };
}

Twins input_twins() {
  const auto query = [](const QueryStatement& says) {
    return [says] { return check_query_bias(says, kSeed); };
  };
  const auto norm = [](const NormStatement& says) {
    return [says] { return check_bias_reading_norm(says, kSeed); };
  };
  const auto only_without_bias = [](const QueryCase& one) {
    return std::optional(one.bias.dot(one.bias) == 0);
  };
  const auto only_where_it_drops_out = [](const QueryCase& one) {
    const Vector<Rational> added = one.inputs * one.key * one.bias;
    return std::optional(added == Vector<Rational>::ones(added.size()) * added(0));
  };
  const auto forgets_gain = [](NormOutput one) {
    for (auto& gain : one.gain) gain = gain == 0 ? 0 : 1;
    return norm_makes_constants(one);
  };
  const auto takes_rms_for_layer = [](NormOutput one) {
    one.norm = Norm::kLayer;
    return norm_makes_constants(one);
  };
  const auto forgets_output = [](AttentionBlock<Rational> block, const Vector<Rational>& shift) {
    const auto kept = block.output_bias;
    block = absorb_shift(block, shift);
    block.output_bias = kept;
    return block;
  };
  return {
      {"Z-Q", {query(query_bias_replaceable), query(only_without_bias)}},
      {"Z-Q'", {query(query_bias_replaceable), query(only_where_it_drops_out)}},
      {"Z-Q', behind a norm", {norm(norm_makes_constants), norm(forgets_gain)}},
      {"Z-PRE', behind a norm", {norm(norm_makes_constants), norm(takes_rms_for_layer)}},
      {"Z-PRE', shift",
       {[] { return check_shift(absorb_shift, kSeed); },
        [=] { return check_shift(forgets_output, kSeed); }}},
  };
}

Twins norm_twins() {
  const auto batch = [](const BatchStatement& says) {
    return [says] { return check_before_batch_norm(says, kSeed); };
  };
  const auto token = [](const TokenStatement& says) {
    return [says] { return check_before_norm(says, kSeed); };
  };
  const auto always_in_batch = [](const BatchCase&, BatchMode) { return std::optional(true); };
  const auto forgets_the_start = [](const BatchCase& one, BatchMode mode) {
    return mode == BatchMode::kTrainedWithout ? std::optional(true) : batch_norm_forgets(one, mode);
  };
  const auto always = [](const TokenCase&) { return std::optional(true); };
  const auto takes_rms_for_layer = [](TokenCase one) {
    one.norm = Norm::kLayer;
    return norm_forgets(one);
  };
  return {
      {"Z-BN", {batch(batch_norm_forgets), batch(always_in_batch)}},
      {"Z-BN'", {batch(batch_norm_forgets), batch(forgets_the_start)}},
      {"Z-LN", {token(norm_forgets), token(always)}},
      {"Z-LN'", {token(norm_forgets), token(takes_rms_for_layer)}},
      {"Z-POST'",
       {[] { return check_post_norm(absorb_into_shifts, kSeed); },
        [] {
          return check_post_norm(
              [](PostNormBlock block) {
                const auto shift = block.shift;
                auto changed = absorb_into_shifts(std::move(block));
                changed.attention.output_bias += shift;  // forgets the residual path
                return changed;
              },
              kSeed);
        }}},
      {"Z-LN', other parameters",
       {[] { return check_no_other_parameters(norm_forgets, kSeed); },
        [=] { return check_no_other_parameters(always, kSeed); }}},
  };
}

}  // namespace

Twins bias_redundancy_twins() {
  auto twins = softmax_twins();
  twins.merge(input_twins());
  twins.merge(norm_twins());
  return twins;
}

}  // namespace kappascope::theory
