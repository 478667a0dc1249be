// SPDX-License-Identifier: Apache-2.0
#include "theory/checks/asger/layer.h"

#include <algorithm>

#include "support/catch.h"
#include "theory/checks/asger/gradient.h"
#include "theory/checks/asger/parameters.h"

using namespace kappascope::theory;

TEST_CASE("the layer of ones gives the numbers of the witness") {
  const auto layer = asger_layers(1, 0).front();
  const Matrix<Rational> tokens = Matrix<Rational>{{1}};
  // σ(1) stands at 3/4: G = 2·3/4 - 1/2, S = 3/4·1.
  CHECK(layer.gate_factor(tokens)(0, 0) == 1);
  CHECK(layer.spatial_factor(tokens)(0, 0) == Rational(3, 4));
  CHECK(layer.output(tokens)(0, 0) == Rational(3, 4));
}

TEST_CASE("the layers hold both answers in number") {
  const auto layers = asger_layers(1, 2000);
  const auto seeing = std::count_if(layers.begin(), layers.end(), some_unit_sees_tokens);
  CHECK(seeing > 500);
  CHECK(static_cast<std::int64_t>(layers.size()) - seeing > 500);
}

TEST_CASE("a law's moments are those of its outcomes") {
  const auto law = symmetric_laws(1, 0).front();
  CHECK(law.mean() == Rational(1, 2));
  CHECK(law.variance() == Rational(1, 16));
  for (const auto& one : symmetric_laws(1, 50)) CHECK(one.mean() == Rational(1, 2));
}

TEST_CASE("the miss of balanced widths is zero exactly where a whole width fits") {
  // 3·2·3 + 2·3² = 3·2·6.
  CHECK(derived_miss({2, 6}) == 0);
  CHECK(derived_miss({1, 1}) == 2);
  CHECK(derived_miss({768, 3072}) == 3262);
}
