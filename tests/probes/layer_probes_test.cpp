// SPDX-License-Identifier: Apache-2.0
// The list of layer probes, what makes them, and the switches.
#include "probes/layer_probes.h"

#include "kappascope/core/error.h"
#include "kappascope/store/schema/layer_probes.h"
#include "support/catch.h"

using namespace kappascope;

TEST_CASE("every layer probe that is listed is made, under its name") {
  for (const auto& row : store::layer_probes()) {
    CAPTURE(row.name);
    const auto probe = probes::make_layer_probe(row.name);
    CHECK(probe->name() == row.name);
    const auto needs = probe->needs();
    CHECK((needs.features || needs.attention || needs.routers));
  }
  CHECK_THROWS_WITH(probes::make_layer_probe("intersept"),
                    Catch::Contains("did you mean 'intercept'?"));
}

TEST_CASE("the layer probes that are switched on run, in the order of the list") {
  probes::ProbeOptions options;
  const auto names = [&] {
    std::vector<std::string> found;
    for (const auto& scheduled : probes::standard_probes({}, options))
      found.emplace_back(scheduled.probe->name());
    return found;
  };
  std::vector<std::string> all;
  for (const auto& row : store::layer_probes()) {
    CHECK(options.layer_probes[row.name] == row.by_default);
    options.layer_probes.set(row.name, true);
    all.emplace_back(row.name);
  }
  CHECK(names() == all);
  for (const auto& row : store::layer_probes()) options.layer_probes.set(row.name, false);
  CHECK(names().empty());
  options.layer_probes.set("intercept", true);
  CHECK(names() == std::vector<std::string>{"intercept"});
  CHECK_THROWS_AS(options.layer_probes.set("hessian", true), UsageError);
  CHECK_THROWS_WITH(options.layer_probes["featurs"], Catch::Contains("did you mean 'features'?"));
}

TEST_CASE("the parts of a budget add up to it, and each probe knows which part is its own") {
  probes::ProbeOptions options;
  options.budget = 0.04;
  for (const bool spectra : {false, true}) {
    for (const bool steps : {false, true}) {
      CAPTURE(spectra, steps);
      options.curvature_loss = [] { return at::Tensor(); };
      options.hessian = spectra;
      options.critical_step = steps;
      double sum = 0;
      for (const auto& scheduled :
           probes::standard_probes([] { return curvature::NamedParameters(); }, options)) {
        CHECK(scheduled.budget_part * options.budget == Approx(scheduled.schedule.budget));
        sum += scheduled.schedule.budget;
      }
      CHECK(sum == Approx(options.budget));
    }
  }
}
