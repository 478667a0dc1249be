// SPDX-License-Identifier: Apache-2.0
#include "curvature/basis_room.h"

#include <torch/types.h>

#include "core/memory.h"
#include "support/catch.h"

using namespace kappascope;

TEST_CASE("a basis takes a third of what is free, no more than it wants, no less than it needs") {
  constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
  const auto vectors = [](auto... asked) { return curvature::basis_room(asked...).vectors; };
  const curvature::VectorBytes one{kGibibyte}, half{kGibibyte / 2};
  CHECK(vectors(24 * kGibibyte, half, 80) == 16);
  CHECK(vectors(24 * kGibibyte, half, 10) == 10);
  CHECK(vectors(kGibibyte, one, 80) == 1);
  CHECK(vectors(12 * kGibibyte, one, 80, 13) == 13);
  CHECK(vectors(12 * kGibibyte, one, 10, 13) == 10);
  CHECK(vectors(0, one, 80) == 1);
  CHECK(vectors(std::nullopt, one, 80) == 80);
}

TEST_CASE("vectors are packed where less than half of those wanted fit, if they may be") {
  constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
  const curvature::VectorBytes bytes{kGibibyte, kGibibyte / 2};
  const auto check = [&](int free, int wanted, int vectors, bool packed) {
    const auto room = curvature::basis_room(free * kGibibyte, bytes, wanted, 5);
    CHECK(room.vectors == vectors);
    CHECK(room.packed == packed);
  };
  check(120, 80, 40, false);
  check(117, 80, 78, true);
  check(30, 80, 20, true);
  check(30, 15, 10, false);
  check(3, 80, 5, true);
  CHECK(!curvature::basis_room(std::nullopt, bytes, 80).packed);
}

TEST_CASE("what is free on the host is what the system has left") {
  const auto free = curvature::free_bytes(torch::dtype(torch::kFloat));
  CHECK(free.has_value() == available_memory().has_value());
}
