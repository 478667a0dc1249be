// SPDX-License-Identifier: Apache-2.0
// What must not change curvature, or changes it as is known. (Closed forms stand in tests/truth.)
#include <torch/types.h>
#include <torch/utils.h>

#include <string>

#include "curvature/small_problem.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::test;

TEST_CASE("permuting hidden units leaves the spectrum") {
  auto p = small_problem();
  const auto parameters = curvature::select_parameters(*p.model);
  const auto loss = [&] { return cross_entropy(p); };
  const auto before = dense(*curvature::hessian(loss, parameters));
  {
    const torch::NoGradGuard no_grad;
    const auto order = torch::tensor({3, 0, 5, 1, 4, 2}, torch::kLong);
    // What stands on the hidden units: the rows of gate and up, the columns of down, the bias b.
    for (const auto& item : parameters) {
      const auto& [name, value] = item;
      if (name.rfind("blocks.0.", 0) != 0) continue;
      for (int64_t axis = 0; axis < value.dim(); ++axis)
        if (value.size(axis) == 6) value.copy_(value.index_select(axis, order));
    }
  }
  const auto after = dense(*curvature::hessian(loss, parameters));
  CHECK((before - after).norm() > 1e-3 * before.norm());
  CHECK((eigenvalues(before) - eigenvalues(after)).cwiseAbs().maxCoeff() <
        1e-12 * operator_norm(before));
}

TEST_CASE("rescaling the loss rescales the spectrum") {
  auto p = small_problem();
  const auto parameters = curvature::select_parameters(*p.model);
  const auto once = dense(*curvature::hessian([&] { return cross_entropy(p); }, parameters));
  const auto scaled =
      dense(*curvature::hessian([&] { return 1000 * cross_entropy(p); }, parameters));
  CHECK((scaled - 1000 * once).norm() < 1e-12 * scaled.norm());
}

TEST_CASE("the spectrum of a block interlaces with that of the whole") {
  auto p = small_problem();
  const auto loss = [&] { return cross_entropy(p); };
  const auto whole =
      eigenvalues(dense(*curvature::hessian(loss, curvature::select_parameters(*p.model))));
  for (const std::string pattern : {"blocks.*.down_proj.*", "head.*", "blocks.0.*"}) {
    CAPTURE(pattern);
    const auto block = eigenvalues(
        dense(*curvature::hessian(loss, curvature::select_parameters(*p.model, pattern))));
    const double slack = 1e-12 * whole.cwiseAbs().maxCoeff();
    const auto gone = whole.size() - block.size();
    REQUIRE(gone > 0);
    // Cauchy: λ_i(whole) <= λ_i(block) <= λ_{i + gone}(whole), ascending.
    for (Eigen::Index i = 0; i < block.size(); ++i) {
      CHECK(whole[i] <= block[i] + slack);
      CHECK(block[i] <= whole[i + gone] + slack);
    }
  }
}
