// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "theory/checks/offset_routes/gated_layer.h"
#include "theory/claim.h"

/// What a bias-free gated layer makes of a constant offset of its input: D(x) = Z(x + c) - Z(x).
///
/// On all of R^d D is a constant k only for k = 0 when act(0) = 0 and act(t)/t tends to constants
/// as t -> ±∞ fast enough (SiLU, GELU, ReLU, bilinear): Z(nc) = nk for all n by repetition, yet
/// Z(nc) = n²L + o(1), so L = 0 and k = 0. A logistic gate with g = 0 is the linear map u/2 and
/// passes the offset; and on few inputs D may happen to be the same.
namespace kappascope::theory {

struct InputOffset {
  GatedLayer layer;         ///< b = 0
  Vector<Rational> offset;  ///< [d] c
  /// The inputs among which x lies; nothing: all of R^d.
  std::optional<std::vector<Vector<Rational>>> inputs{};

  /// Inputs at which D must agree to be constant: those given, or multiples of c, lattice points
  /// and points in general position.
  [[nodiscard]] std::vector<Vector<Rational>> probes() const;
  [[nodiscard]] Values change(const Vector<Rational>& x) const;  ///< [d_model] D(x)
  [[nodiscard]] std::string text() const;
};

/// Layers with act(0) = 0 on all of R^d: hand-sized ones, then 1,500 seeded ones with d up to 3,
/// d_ff up to 4 and offsets seen by both, one and neither factor of a unit.
std::vector<InputOffset> offsets_at_silent_gates(std::uint64_t seed);
/// Logistic gates with and without an input: one by hand, then 300 seeded ones.
std::vector<InputOffset> offsets_at_logistic_gates(std::uint64_t seed);
/// Two ReLU units on the inputs 1 and -1.
std::vector<InputOffset> offsets_at_two_inputs();

/// Whether the offset leaves the layer as a constant other than zero.
using OffsetSurvives = std::function<bool(const InputOffset&)>;
/// D has the same value at all probes, and it is not zero. Different values prove a no.
Verdict check_offset_survives(const OffsetSurvives& says, const std::vector<InputOffset>& cases);

/// For one unit on all of R^d: the constant that D is, or nothing where D depends on x.
using UnitChange = std::function<std::optional<Rational>(const InputOffset&)>;
/// A constant exactly when u = 0, or g = 0, or u·c = g·c = 0; it is act(0) u·c then.
std::optional<Rational> unit_change(const InputOffset& one);
/// At 2,500 seeded units with each of the five gates; both answers must occur.
Verdict check_unit_change(const UnitChange& states, std::uint64_t seed);

}  // namespace kappascope::theory
