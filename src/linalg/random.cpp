// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/random.h"

#include <cmath>
#include <numbers>

namespace kappascope::linalg {

std::uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

double Random::uniform() {
  // 53 bits, moved by half a step: neither 0 (log!) nor 1 can come out.
  return (static_cast<double>(next() >> 11) + 0.5) * 0x1.0p-53;
}

std::uint64_t Random::below(std::uint64_t bound) {
  // Numbers from the incomplete last multiple of `bound` are drawn again.
  const std::uint64_t first_fair = (0 - bound) % bound;
  std::uint64_t draw = next();
  while (draw < first_fair) draw = next();
  return draw % bound;
}

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

Eigen::VectorXd Random::normal_vector(Eigen::Index size) {
  Eigen::VectorXd result(size);
  for (Eigen::Index i = 0; i < size; ++i) result(i) = normal();
  return result;
}

}  // namespace kappascope::linalg
