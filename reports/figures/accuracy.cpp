// SPDX-License-Identifier: Apache-2.0
// The figure of the accuracy on clean and on attacked test images.
#include <array>
#include <string>
#include <utility>

#include "reports/figures/builders.h"

namespace kappascope::reports {

Figure accuracies(const std::vector<Arm>& arms) {
  static constexpr std::array<std::pair<store::SeriesId, const char*>, 4> kKinds = {
      {{id::kAccuracyTest, "clean"},
       {id::kAccuracyDocumentAttack, "the document's attack"},
       {id::kAccuracyFgsm, "FGSM"},
       {id::kAccuracyPgd, "PGD"}}};
  Figure figure{.id = "accuracies", .title = "Accuracy on test images", .topic = Topic::kTraining};
  figure.x.title = "step";
  figure.columns = 2;
  bool attacked = false;
  for (const auto& [name, label] : kKinds) {
    const std::size_t panel = figure.panels.size();
    bool any = false;
    for (std::size_t a = 0; a < arms.size(); ++a) {
      auto series = series_of(arms, a, name, "", label);
      if (!series) continue;
      if (!any) figure.panels.push_back({.title = label, .y = {.title = "share right"}});
      any = add_series(figure, panel, std::move(series));
    }
    attacked = attacked || (any && name != id::kAccuracyTest);
  }
  if (figure.panels.size() == 1) {
    figure.columns = 1;
    if (!attacked) figure.panels.front().title = "test images";
  }
  if (attacked) figure.title += ", clean and attacked";
  figure.caption = "Share of test images that the network classifies correctly";
  figure.caption +=
      attacked ? ", without an attack and under each; every panel has its own scale." : ".";
  if (figure.panels.empty()) figure.missing = "No accuracy was recorded.";
  return figure;
}

}  // namespace kappascope::reports
