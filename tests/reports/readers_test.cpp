// SPDX-License-Identifier: Apache-2.0
// Who reads a series is what the schema says: a run that holds all of them is rendered without each
// in turn, and exactly the parts of the report that its row names differ.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <set>
#include <sstream>

#include "reports/figures.h"
#include "reports/findings.h"
#include "reports/html/parts/tables.h"
#include "reports/runs/spectra.h"
#include "reports/sample_run.h"
#include "support/catch.h"
#include "support/stored_run.h"

namespace kappascope::reports {
namespace {

std::string text_of(const Figure& figure) {
  std::string text = fmt::format("{} {} {} {} {}\n",
                                 figure.id,
                                 figure.title,
                                 figure.caption,
                                 figure.missing,
                                 fmt::join(figure.notes, " "));
  for (const auto& panel : figure.panels) text += panel.title + "\n";
  for (const auto& line : figure.lines) text += fmt::format("{} {}\n", line.y, line.label);
  for (const auto& s : figure.series) {
    text += fmt::format("{} {} {} {} {} {} {}\n",
                        s.layer,
                        s.quantity,
                        fmt::join(s.x, " "),
                        fmt::join(s.y, " "),
                        fmt::join(s.lower, " "),
                        fmt::join(s.upper, " "),
                        fmt::join(s.hover, " "));
  }
  return text;
}

struct Parts {
  std::string figures{}, findings{}, table{};
};

Parts parts_of(const std::vector<Arm>& arms) {
  Parts parts;
  for (const auto& figure : build_figures(arms)) parts.figures += text_of(figure);
  for (const auto& finding : find_findings(arms)) {
    // This one counts all series.
    if (finding.id != "unresolved") parts.findings += finding.text + finding.certainty + "\n";
  }
  parts.table = estimates_html(arms);
  return parts;
}

/// A series of this row: "hessian/lambda_1" of "hessian/lambda_K".
std::string example_of(const store::SeriesInfo& info) {
  if (const auto spectrum = store::parse_spectrum(info.name))
    return "spectrum/hessian/*/" + spectrum->part;
  return info.name;
}

template <typename Map>
bool holds(const Map& series, const store::SeriesInfo& info, bool array) {
  return std::any_of(series.begin(), series.end(), [&](const auto& entry) {
    return store::find_series(entry.first.name, array) == &info;
  });
}

/// The sample, with what it lacks added as a constant, and one spectrum that has not converged.
std::vector<Arm> whole_arms(const TemporaryFolder& folder) {
  auto arms =
      read_arms({write_sample_run(folder / "a", {.label = "a", .steps = 190}),
                 write_sample_run(folder / "b", {.label = "b", .bias = true, .steps = 190})});
  const auto layers = layers_of(arms, id::kKappas);
  for (Arm& arm : arms) {
    // Of two experts one has all the rows.
    for (const auto& [layer, rows] : {std::pair("moe.experts.0", 900.0), {"moe.experts.1", 0.0}})
      arm.scalars[{id::kLayerRows, layer}] = {
          {arm.last_step, sample::plain(id::kLayerRows, layer, rows)}};
    for (const auto& info : store::schema()) {
      if (info.array || holds(arm.scalars, info, false)) continue;
      for (const auto& layer :
           info.scope == store::Scope::kLayer ? layers : std::vector<std::string>{""}) {
        const store::SeriesKey key{example_of(info), layer};
        arm.scalars[key] = {{arm.last_step, sample::plain(key.name, layer, 0.75)}};
      }
    }
  }
  // What is only told where something is amiss.
  const auto change_last = [&](store::SpectrumPart part, auto change) {
    Points& points = arms[0].scalars.at({store::spectrum_series("hessian", "*", part), ""});
    auto last = points.back();
    change(last.scalar);
    points.pop_back();
    points.push_back(last);
  };
  change_last(part::kStatus, [](auto& last) { last.status = store::Status::kMaxProducts; });
  change_last(part::kProductReason,
              [](auto& last) { last.attributes["text"] = "no second derivative"; });
  change_last(part::kOtherEnd, [](auto& last) { last.value = -1e9; });  // of the larger magnitude
  // The second of six values is not certified.
  const auto key = [](store::SpectrumPart part) {
    return store::SeriesKey{store::spectrum_series("hessian", "*", part), ""};
  };
  const auto step = arms[1].arrays.at(key(part::kEigenvalues)).back().first;
  arms[1].arrays[key(part::kReach)] = {
      {step, {.shape = {2, 6}, .data = {0, 9, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}}}};
  return arms;
}

}  // namespace

TEST_CASE("every series is drawn where the schema says, and nowhere else", "[schema]") {
  const TemporaryFolder folder;
  const auto arms = whole_arms(folder);
  const Parts all = parts_of(arms);
  for (const auto& info : store::schema()) {
    INFO(info.name);
    auto without = arms;
    bool any = false;
    for (Arm& arm : without) {
      const auto is_it = [&](const auto& entry) {
        return store::find_series(entry.first.name, info.array) == &info;
      };
      any |=
          info.array ? std::erase_if(arm.arrays, is_it) > 0 : std::erase_if(arm.scalars, is_it) > 0;
    }
    CHECK(any);
    const Parts left = parts_of(without);
    CHECK((left.figures != all.figures) == ((info.read_by & store::kFigure) != 0));
    CHECK((left.findings != all.findings) == ((info.read_by & store::kFindings) != 0));
    CHECK((left.table != all.table) == ((info.read_by & store::kTable) != 0));
  }
}

TEST_CASE("a run of schema version 1 gives the report that it gave, its routes no trouble",
          "[schema]") {
  const TemporaryFolder folder;
  testing::write_stored_run(folder.path(), 1);
  const auto arms = read_arms({folder.path()});
  std::string text;
  for (const auto& finding : find_findings(arms)) {
    if (finding.id == "unresolved") {
      // Of 47 series, version 0.1.0 counted the route of features/products as a seventh.
      CHECK(finding.text.find("6 of 47 series") != std::string::npos);
      CHECK(finding.certainty.find("features/products") == std::string::npos);
      CHECK(
          finding.certainty.find(
              "kappa/sigma of blocks.0.down_proj: the error of sampling dominates 3 of 3 times") !=
          std::string::npos);
    } else {
      text += finding.id + ": " + finding.text;
      if (!finding.certainty.empty()) text += " " + finding.certainty;
      text += "\n";
    }
  }
  std::ostringstream printed;  // by version 0.1.0, in the words of today
  printed << std::ifstream(KAPPASCOPE_STORED_RUNS "/version1_findings.txt").rdbuf();
  CHECK(text == printed.str());
  const auto spectra = stored_spectra(arms);
  REQUIRE(spectra.size() == 1);
  CHECK(certificate(spectra[0], arms[0])
            .find("Products are exact derivatives in float (graph kept), good to 9.54×10⁻⁷ of the "
                  "largest.") != std::string::npos);
}

}  // namespace kappascope::reports
