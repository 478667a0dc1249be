// SPDX-License-Identifier: Apache-2.0
#include "curvature/basis_room.h"

#include <torch/types.h>

#include "kappascope/core/memory.h"
#include "support/catch.h"

using namespace kappascope;

TEST_CASE("a basis takes a quarter of what is free, no more than it wants, no less than it needs") {
  constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;
  CHECK(curvature::basis_room(32 * kGibibyte, kGibibyte / 2, 80) == 16);
  CHECK(curvature::basis_room(32 * kGibibyte, kGibibyte / 2, 10) == 10);
  CHECK(curvature::basis_room(kGibibyte, kGibibyte, 80) == 1);
  CHECK(curvature::basis_room(16 * kGibibyte, kGibibyte, 80, 13) == 13);
  CHECK(curvature::basis_room(16 * kGibibyte, kGibibyte, 10, 13) == 10);
  CHECK(curvature::basis_room(0, kGibibyte, 80) == 1);
  CHECK(curvature::basis_room(std::nullopt, kGibibyte, 80) == 80);
}

TEST_CASE("what is free on the host is what the system has left") {
  const auto free = curvature::free_bytes(torch::dtype(torch::kFloat));
  CHECK(free.has_value() == available_memory().has_value());
}
