// SPDX-License-Identifier: Apache-2.0
#include "lab/theory/twins/twins.h"
#include "theory/checks/asger/gate.h"
#include "theory/checks/asger/gradient.h"
#include "theory/checks/asger/layer.h"
#include "theory/checks/asger/parameters.h"
#include "theory/checks/asger/printed_results.h"

namespace kappascope::theory {
namespace {

constexpr auto kSeed = kTwinSeed;
constexpr int kLaws = 60;

/// Well inside above, but with the lower end.
GateRange with_lower_end(const AsgerGate& gate) {
  return {-gate.alpha, gate.alpha + Rational(9, 10), true};
}

/// The published ends without the constant gates.
GateRange never_constant(const AsgerGate& gate) {
  return {-gate.alpha, 1 + gate.alpha, false};
}

GradientGrowth growth(GradientPath path) {
  return [path](const Rational& alpha, const GateLaw& law) {
    return derived_growth(path, alpha, law);
  };
}

Matrix<Rational> own_token(const AsgerLayer& layer, const Matrix<Rational>& tokens) {
  return layer.output(tokens);
}

/// What an interaction would be: the gated values of a sequence mixed by a matrix over its tokens.
Matrix<Rational> mixed_tokens(const AsgerLayer& layer, const Matrix<Rational>& tokens) {
  const Index n = tokens.rows();
  return Matrix<Rational>::ones(n, n) * tokens + layer.output(tokens);
}

bool first_form_suffices(const AsgerLayer& layer) {
  return (layer.spatial * layer.up).squared_norm() != 0;
}

std::int64_t published_count(std::int64_t d, std::int64_t f) {
  return 3 * d * f + 2 * f * f;
}

Verdict tokens_of(std::int64_t steps, std::int64_t total) {
  return check_token_budget(
      {"steps of 4·10⁶", Enclosure(steps), Enclosure(4'000'000), Enclosure(total)});
}

Verdict shown(std::size_t index, bool stated) {
  return check_findings({{published_differences()[index], stated}});
}

Verdict bracket(bool turned) {
  auto findings = bracketing_findings();
  if (turned) findings.back().shown = !findings.back().shown;
  return check_findings(findings);
}

}  // namespace

Twins asger_twins() {
  using enum GradientPath;
  const auto symmetric = symmetric_laws(kSeed, kLaws);
  const auto dependent = dependent_laws(kSeed, kLaws);
  return {
      {"A-G",
       {[] { return check_gate_range(open_range, published_gates(kSeed)); },
        [] { return check_gate_range(with_lower_end, published_gates(kSeed)); }}},
      {"A-G'",
       {[] { return check_gate_range(open_range, any_gates(kSeed)); },
        [] { return check_gate_range(never_constant, any_gates(kSeed)); }}},
      {"A-RANGE",
       {[] { return check_silu_range(derived_silu_range()); },
        [] {
          return check_silu_range({Enclosure(0), std::nullopt});
        }}},
      {"A-RANGE, above",
       {[] {
          return check_silu_range({std::nullopt, 8});
        },
        [] {
          return check_silu_range({std::nullopt, 1});
        }}},
      {"A-RANGE'",
       {[] { return check_silu_range(derived_silu_range()); },
        [] {
          return check_silu_range({Enclosure{{-30, 100}, {-29, 100}}, std::nullopt});
        }}},
      {"A-RANGE', where in [0, 1]",
       {[] {
          return check_in_unit_interval(
              [](const Rational& g) { return 0 <= g && g <= Rational(5, 4); });
        },
        [] { return check_in_unit_interval([](const Rational& g) { return 0 <= g && g <= 1; }); }}},
      {"A-RANGE', against ASGER",
       {[] {
          return check_reaches_lower([](const auto& alpha) { return alpha >= Rational(28, 100); });
        },
        [] {
          return check_reaches_lower([](const auto& alpha) { return alpha >= Rational(1, 4); });
        }}},
      {"A-GRAD",
       {[=] { return check_gradient_grows(kGate, symmetric); },
        [] { return check_gradient_grows(kValue, constant_laws()); }}},
      {"A-GRAD, by how much",
       {[=] { return check_gradient_growth(kGate, growth(kGate), symmetric); },
        [=] {
          return check_gradient_growth(
              kGate, [](const auto&, const auto&) { return Rational(1); }, symmetric);
        }}},
      {"A-GRAD'",
       {[=] { return check_gradient_growth(kGate, growth(kGate), dependent); },
        [=] {
          return check_gradient_growth(
              kGate, [](const auto& alpha, const auto&) { return 1 + 2 * alpha; }, dependent);
        }}},
      {"A-GRAD', value path",
       {[=] { return check_gradient_growth(kValue, growth(kValue), symmetric); },
        [=] { return check_gradient_growth(kValue, growth(kGate), symmetric); }}},
      {"A-GRAD', without symmetry",
       {[=] { return check_gradient_growth(kGate, growth(kGate), dependent); },
        [=] { return check_gradient_growth(kValue, growth(kValue), dependent); }}},
      {"A-COUNT",
       {[] {
          return check_nearly_balanced({5, 10'000}, transformer_widths());
        },
        [] {
          return check_nearly_balanced({4, 10'000}, transformer_widths());
        }}},
      {"A-COUNT, to the last parameter",
       {[] { return check_balance(derived_miss, small_widths()); },
        [] { return check_balance([](const Widths&) { return 0; }, small_widths()); }}},
      {"A-COUNT'",
       {[] { return check_parameter_count(published_count, transformer_widths()); },
        [] {
          return check_parameter_count(
              [](std::int64_t d, std::int64_t f) { return 3 * d * f + f * f; },
              transformer_widths());
        }}},
      {"A-COUNT', the miss",
       {[] { return check_balance(derived_miss, transformer_widths()); },
        [] {
          return check_balance([](const Widths& at) { return derived_miss(at) + 1; },
                               transformer_widths());
        }}},
      {"A-SPAT",
       {[] { return check_interaction(true, mixed_tokens, kSeed); },
        [] { return check_interaction(true, own_token, kSeed); }}},
      {"A-SPAT'",
       {[] { return check_interaction(false, own_token, kSeed); },
        [] { return check_interaction(false, mixed_tokens, kSeed); }}},
      {"A-SPATt",
       {[] { return check_token_specific(some_unit_sees_tokens, kSeed); },
        [] { return check_token_specific(first_form_suffices, kSeed); }}},
      {"A-TOK",
       {[] { return check_tokens_suffice(published_budget()); },
        [] {
          auto more = published_budget();
          more.steps = Enclosure(725);
          return check_tokens_suffice(more);
        }}},
      {"A-TOK'",
       {[] { return tokens_of(399, 1'596'000'000); },
        [] { return tokens_of(400, 1'596'000'000); }}},
      {"A-LOSSp", {[] { return shown(0, true); }, [] { return shown(0, false); }}},
      {"A-LOSSp, the ranges", {[] { return shown(1, true); }, [] { return shown(1, false); }}},
      {"A-LOSSp, the spatial part",
       {[] { return shown(2, false); }, [] { return shown(2, true); }}},
      {"A-LOSSp'", {[] { return bracket(false); }, [] { return bracket(true); }}},
  };
}

}  // namespace kappascope::theory
