// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

namespace kappascope::linalg {

/// Standard error of the mean of `count` forms v · B v, for v uniform on the unit sphere of `order`
/// dimensions, from `spread`, the mean of ‖(B - c) v‖² over the vectors with c that mean. Nothing
/// of the spread between vectors is needed: Var v · B v = 2 (tr B²/order - (tr B/order)²) / (order
/// + 2), and this estimate of it has no bias.
///
/// Times Student's t with `count` degrees of freedom it is an interval of 95 % from one vector on,
/// also where a single eigenvalue carries B. There the mean is c = χ²(count)/count times the truth
/// and the error sqrt(2 c/count) times it, and |c - 1| <= t sqrt(2 c/count) has a probability of
/// 95.0 to 95.6 % for any count; the spread of four vectors would cover 83 %. With more eigenvalues
/// c is steadier and the interval wider than it need be.
inline double form_error(double spread, double order, double count) {
  return std::sqrt(2 * spread / (count * (order + 2) - 2));
}

}  // namespace kappascope::linalg
