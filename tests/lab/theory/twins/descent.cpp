// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "lab/theory/twins/twins.h"
#include "theory/checks/descent/bias_path.h"
#include "theory/checks/descent/correction.h"
#include "theory/checks/descent/gated_draws.h"
#include "theory/checks/descent/gradient_descent.h"
#include "theory/checks/descent/joint.h"
#include "theory/checks/descent/offset_target.h"
#include "theory/exact/linalg.h"

namespace kappascope::theory {
namespace {

constexpr auto kSeed = kTwinSeed;

/// J with the mean of the features doubled: worse conditioned than J.
Matrix<Rational> joint_with_twice_the_mean(const GramCase& one) {
  auto doubled = one;
  doubled.mu *= Rational(2);
  return joint_hessian_of(doubled);
}

Matrix<Rational> unsheared(const GramCase& one) {
  return centred_problem(one);
}

/// As if the mean did not count.
Matrix<Rational> iterate_without_mean(const OffsetCase& one, int t) {
  auto centred = one;
  centred.b_in.set_zero();
  return t == 0 ? one.start : derived_iterate(centred, t);
}

std::optional<bool> starts_at_zero(const OffsetCase& one) {
  return one.start.squared_norm() == 0;
}

std::optional<bool> no_spread(const OffsetCase& one) {
  return one.x.squared_norm() == 0;
}

/// As if nothing of μ + b lay outside the range of W_d.
std::optional<bool> mean_target_unseen(const ReadoutCase& one) {
  return is_zero(one.weight * one.mean_target());
}

MeanMoves moves_of_the_mean_alone(const ReadoutCase& one) {
  auto moves = derived_moves(one);
  moves.by_weight = mean_residual(one) * -shifted_mean(one).squared_norm();
  return moves;
}

/// Without the neighbours: what the norm of the correction alone would allow below.
SingularBounds never_shrinks(const CorrectionCase& one) {
  auto bounds = interlacing_bounds(one);
  bounds.bottom_from = one.sigma(one.sigma.size() - 1);
  return bounds;
}

}  // namespace

Twins descent_twins() {
  return {
      {"P-JOINT",
       {[] { return check_no_worse(joint_hessian_of, kSeed); },
        [] { return check_no_worse(weight_block, kSeed); }}},
      {"P-JOINT, against explicit centring",
       {[] { return check_no_worse(sheared_centred, kSeed); },
        [] { return check_no_worse(centred_problem, kSeed); }}},
      {"P-JOINT'",
       {[] { return check_ends_enclose(joint_beside(centred_problem, kSeed)); },
        [] { return check_ends_enclose(joint_beside(joint_with_twice_the_mean, kSeed)); }}},
      {"P-JOINT', the change of variables",
       {[] { return check_joint_identity(sheared_centred, kSeed); },
        [] { return check_joint_identity(unsheared, kSeed); }}},
      {"P-JOINT', with b",
       {[] { return check_ends_enclose(bias_beside_block(kSeed)); },
        [] {
          auto pairs = bias_beside_block(kSeed);
          for (auto& pair : pairs) std::swap(pair.wide, pair.narrow);
          return check_ends_enclose(pairs);
        }}},
      {"P-JOINT', an offset target",
       {[] { return check_share_bound(derived_share_bound, kSeed); },
        [] {
          return check_share_bound(
              [](const Rational& eta, int k) { return 1 / (eta * (2 * k + 1) * (2 * k + 1)); },
              kSeed);
        }}},
      {"P-JOINT', its steps",
       {[] { return check_offset_steps(offset_targets()); },
        [] {
          auto turned = offset_targets();
          for (auto& one : turned) std::swap(one.with, one.without);
          return check_offset_steps(turned);
        }}},
      {"P-PATH",
       {[] { return check_centres(mean_in_range, kSeed); },
        [] { return check_centres(mean_target_unseen, kSeed); }}},
      {"P-PATH, the moves",
       {[] { return check_mean_moves(derived_moves, kSeed); },
        [] { return check_mean_moves(moves_of_the_mean_alone, kSeed); }}},
      {"P-BEHIND",
       {[] {
          return check_conditions({101, 1, 10'402});
        },
        [] {
          return check_conditions({101, 1, 10'403});
        }}},
      {"P-SGD",
       {[] { return check_rest(one_map_fits_all, kSeed); },
        [] { return check_rest(no_spread, kSeed); }}},
      {"P-SGD, full gradients",
       {[] { return check_arrival(starts_off_kernel, kSeed); },
        [] {
          return check_arrival([](const OffsetCase&) { return std::optional(false); }, kSeed);
        }}},
      {"P-SGD'",
       {[] { return check_arrival(starts_off_kernel, kSeed); },
        [] { return check_arrival(starts_at_zero, kSeed); }}},
      {"P-SGD', the iterates",
       {[] { return check_iterates(derived_iterate, kSeed); },
        [] { return check_iterates(iterate_without_mean, kSeed); }}},
      {"P-SGD', the exact fit",
       {[] { return check_is_exact_fit(offset_is_undisturbed, kSeed); },
        [] { return check_is_exact_fit(no_spread, kSeed); }}},
      {"P-SGD', the mean of the paths",
       {[] { return check_mean_of_paths(derived_iterate, kSeed); },
        [] { return check_mean_of_paths(iterate_without_mean, kSeed); }}},
      {"P-KW",
       {[] {
          return check_correction_inflates(
              [](const CorrectionCase& one) {
                const bool isotropic = one.sigma(0) == one.sigma(one.sigma.size() - 1);
                return isotropic ? std::optional(true) : std::nullopt;
              },
              kSeed);
        },
        [] {
          return check_correction_inflates(
              [](const CorrectionCase&) { return std::optional(true); }, kSeed);
        }}},
      {"P-KW', a large correction",
       {[] { return check_correction_inflates(inflates_from(1), kSeed); },
        [] {
          return check_correction_inflates(inflates_from({1, 4}), kSeed);
        }}},
      {"P-KW'",
       {[] { return check_singular_bounds(interlacing_bounds, kSeed); },
        [] { return check_singular_bounds(never_shrinks, kSeed); }}},
      {"P-P1r",
       {[] {
          return read_as(check_gated_share([](double a, double) { return a >= 1; }, kSeed), 1);
        },
        [] {
          return read_as(check_gated_share([](double a, double b) { return a >= b; }, kSeed), 1);
        }}},
      {"P-DOM",
       {[] { return read_as(check_mean_share([](double a, double) { return a >= 0; }, kSeed), 1); },
        [] {
          return read_as(check_mean_share([](double a, double b) { return a >= b; }, kSeed), 1);
        }}},
  };
}

}  // namespace kappascope::theory
