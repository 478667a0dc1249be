// SPDX-License-Identifier: Apache-2.0
#include "lab/study/metrics.h"

#include <set>

#include "kappascope/store/schema/schema.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::study;

TEST_CASE("every derived metric has a name of its own, a meaning, and a basis that runs record") {
  std::set<std::string> names;
  for (const auto& derived : derived_metrics()) {
    CAPTURE(derived.id.name());
    CHECK(names.insert(derived.id).second);
    CHECK_FALSE(derived.meaning.empty());
    CHECK(store::find_series(derived.basis) != nullptr);
    CHECK(store::find_series(derived.id.name()) == nullptr);
    CHECK(is_metric(derived.id));
    CHECK(basis_of(derived.id) == derived.basis);
    CHECK(find_derived_metric(derived.id.name()) == &derived);
  }
  CHECK(find_derived_metric("loss/test") == nullptr);
}

TEST_CASE("what a change at spikes rests on is the quantity that changes") {
  CHECK(basis_of(metric::kSpikesKappa) == "kappa/sigma");
  CHECK(basis_of("loss/test@median") == "loss/test");
  CHECK(basis_of("user/mine") == "user/mine");
  CHECK_FALSE(is_metric("spikes/none"));
  CHECK_FALSE(is_metric("hessian/lambda_K"));
}
