// SPDX-License-Identifier: Apache-2.0
// The sharpness that an optimiser sees, against its own limit: measured by a study, as the claims
// of studies.cpp.
#include <fmt/format.h>

#include "theory/checks/studies/edge.h"
#include "theory/families/families.h"

namespace kappascope::theory {
namespace {

/// One optimiser at the edge of stability.
Claim edge_claim(const std::string& id,
                 const std::string& paper,
                 const std::string& optimiser,
                 const std::string& limit,
                 const std::string& prefix) {
  return {
      .id = id,
      .source = "ours, after " + paper,
      .statement = fmt::format("Under full-batch {} the sharpness that the optimiser sees rises "
                               "to {} and stays there, to within a fifth.",
                               optimiser,
                               limit),
      .assumptions = "as in the study: a gated MLP, squared loss, a constant learning rate",
      .derivation =
          "The largest eigenvalue of P^(-1/2) H P^(-1/2) of the loss that is trained, "
          "over the limit, from the first measurement at which it is reached: its "
          "median in every run, three rates, over seeds.",
      .standing = Standing::kOurs,
      .studies = {"edge-of-stability"},
      .measure = [prefix](const StudyRuns& study) { return check_edge(study, prefix); }};
}

}  // namespace

std::vector<Claim> edge_claims() {
  return {edge_claim("C-EDGE", "Cohen et al. (2021)", "gradient descent", "2/η", "descent"),
          edge_claim("C-EDGEm",
                     "Cohen et al. (2021)",
                     "gradient descent with momentum β",
                     "(2 + 2β)/η",
                     "momentum"),
          edge_claim("C-EDGEa", "Cohen et al. (2022)", "Adam", "(2 + 2β₁)/((1 − β₁)η)", "Adam")};
}

}  // namespace kappascope::theory
