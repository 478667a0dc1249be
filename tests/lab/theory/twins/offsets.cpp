// SPDX-License-Identifier: Apache-2.0
#include "lab/theory/twins/twins.h"
#include "theory/checks/offsets/alignment.h"
#include "theory/checks/offsets/least_error.h"
#include "theory/checks/offsets/minimal_change.h"
#include "theory/checks/offsets/vanishing_noise.h"

namespace kappascope::theory {
namespace {

constexpr auto kSeed = kTwinSeed;

std::optional<Matrix<Rational>> wrong_scale(const OffsetPair& pair) {
  return pair.out * pair.in.transpose() / Rational(1 + pair.in.dot(pair.in));
}

std::optional<LeastError> always_unique(const Matrix<Rational>& sigma, const OffsetPair& offsets) {
  auto error = least_error(sigma, offsets);
  error->unique = true;
  return error;
}

std::optional<LeastError> noise_ignored(const Matrix<Rational>& sigma, const OffsetPair& offsets) {
  auto error = least_error(sigma, offsets);
  error->map = least_fit(offsets).value_or(error->map);
  return error;
}

/// w/(b_inᵀw) with w = Σ0 b_in.
Vector<Rational> along_noise(const Matrix<Rational>& sigma0, const Vector<Rational>& b_in) {
  const Vector<Rational> w = sigma0 * b_in;
  const Rational length = b_in.dot(w);
  return length == 0 ? b_in : Vector<Rational>(w / length);
}

Twins fit_twins() {
  const auto only_along_output = [](const OffsetFit& fit) {
    const Vector<Rational> image = fit.deviation.transpose() * fit.offsets.out;
    return std::optional(image != Vector<Rational>::zero(image.size()));
  };
  return {
      {"P-L1",
       {[] { return check_least_fit(published_least_fit, offset_pairs(kSeed)); },
        [] { return check_least_fit(wrong_scale, offset_pairs(kSeed)); }}},
      {"P-L1'",
       {[] { return check_least_fit(least_fit, pairs_without_input()); },
        [] { return check_least_fit(published_least_fit, pairs_without_input()); }}},
      {"P-L1a",
       {[] { return check_least_norm(least_norm, kSeed); },
        [] {
          return check_least_norm(
              [](const OffsetPair& pair) -> Rational { return pair.out.dot(pair.out); }, kSeed);
        }}},
      {"P-L1b",
       {[] { return check_norm_grows(norm_grows, kSeed); },
        [] { return check_norm_grows(published_norm_grows, kSeed); }}},
      {"P-L1b'",
       {[] { return check_norm_grows(norm_grows, kSeed); },
        [=] { return check_norm_grows(only_along_output, kSeed); }}},
  };
}

}  // namespace

Twins offsets_twins() {
  auto twins = fit_twins();
  twins.merge(Twins{
      {"P-MSEa",
       {[] { return check_least_error(published_least_error, regular_offsets(kSeed)); },
        [] { return check_least_error(noise_ignored, regular_offsets(kSeed)); }}},
      {"P-MSEa'",
       {[] { return check_least_error(least_error, singular_offsets(kSeed)); },
        [] { return check_least_error(always_unique, singular_offsets(kSeed)); }}},
      {"P-MSEb",
       {[] { return check_limit(derived_limit, kSeed); },
        [] { return check_limit(published_limit, kSeed); }}},
      {"P-MSEb'",
       {[] { return check_limit(derived_limit, kSeed); },
        [] { return check_limit(along_noise, kSeed); }}},
      {"P-MSEb', when it is Lemma 1",
       {[] { return check_limit_condition(along_eigenvector, kSeed); },
        [] {
          return check_limit_condition(
              [](const auto& sigma0, const auto&) { return sigma0(0, 0) != 0; }, kSeed);
        }}},
      {"P-ALIGN",
       {[] { return check_alignment(Correction::kLeastChange, aligned_with_mean, kSeed); },
        [] { return check_alignment(Correction::kLeastError, aligned_with_mean, kSeed); }}},
      {"P-ALIGN'",
       {[] { return check_alignment(Correction::kLeastError, mean_is_eigenvector, kSeed); },
        [] {
          return check_alignment(
              Correction::kLeastError,
              [](const NoisyOffset& one) { return std::optional(one.samples.rows() == 1); },
              kSeed);
        }}},
      {"P-ALIGN', the direction",
       {[] { return check_correction_direction(whitened_mean, kSeed); },
        [] {
          return check_correction_direction([](const auto&, const auto& mu) { return mu; }, kSeed);
        }}},
  });
  return twins;
}

}  // namespace kappascope::theory
