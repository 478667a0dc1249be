// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/spectra.h"

#include <algorithm>
#include <cmath>

#include "reports/figures.h"
#include "reports/findings.h"
#include "reports/html/figure_json.h"
#include "reports/html/parts/sections.h"
#include "reports/sample_run.h"
#include "support/catch.h"

using Catch::Contains;

namespace kappascope::reports {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A run with nothing but a stored spectrum.
std::vector<Arm> only_spectrum(const TemporaryFolder& folder,
                               int layers = 3,
                               store::Status status = "converged",
                               const std::vector<store::Scalar>& more = {}) {
  {
    auto run = store::RunWriter::create(folder / "one", {{"label", "one"}});
    store::Snapshot snapshot;
    snapshot.step = 2000;
    sample::add_stored_spectrum(snapshot, 1, layers, status);
    for (const auto& each : more) snapshot.scalars.push_back(each);
    run.write(snapshot);
  }
  return read_arms({folder / "one"});
}

const Figure& figure(const std::vector<Figure>& figures, const std::string& id) {
  const auto found =
      std::find_if(figures.begin(), figures.end(), [&](const Figure& f) { return f.id == id; });
  REQUIRE(found != figures.end());
  return *found;
}

}  // namespace

TEST_CASE("ranks count from the end that they were asked for", "[spectra]") {
  const TemporaryFolder folder;
  auto spectrum = stored_spectra(only_spectrum(folder)).at(0);
  CHECK(spectrum.rank(0) == "λ1");
  CHECK(spectrum.rank(2) == "λ3");
  CHECK(spectrum.rank(3) == "λmin3");
  CHECK(spectrum.rank(5) == "λmin1");
  spectrum.has_largest = false;
  CHECK(spectrum.rank(0) == "λmin6");
  CHECK(spectrum.checkpoint == 2001);
  // Batches that were measured with other ranks are not drawn at these.
  const TemporaryFolder other;
  const auto six = sample::plain("spectrum/hessian/*/batches_from_largest", "", 6);
  const auto figures = build_figures(only_spectrum(other, 3, "converged", {six}));
  const Figure& mixed = figure(figures, "spectrum_hessian_eigenvalues");
  REQUIRE(mixed.series.size() == 2);
  CHECK(mixed.series[1].x.size() == 1);  // the grown batch alone
}

TEST_CASE("a negative eigenvalue stands below zero on an axis that is logarithmic on both sides",
          "[spectra]") {
  const TemporaryFolder folder;
  const auto figures = build_figures(only_spectrum(folder));
  const Figure& values = figure(figures, "spectrum_hessian_eigenvalues");
  const Axis& y = values.panels[0].y;
  REQUIRE(y.threshold > 0);
  CHECK_FALSE(y.log);
  CHECK(y.min < -1.1);
  CHECK(y.max > 60);
  const auto tick = [&](double at) {
    return std::any_of(y.ticks.begin(), y.ticks.end(), [&](const Tick& t) { return t.at == at; });
  };
  CHECK(tick(0));
  CHECK(tick(-1));
  CHECK(tick(10));
  CHECK(on_signed_log(-3, 1) == -on_signed_log(3, 1));
  // Far above the threshold a factor of ten is the same length everywhere.
  CHECK(on_signed_log(1e6, 1) - on_signed_log(1e5, 1) == Approx(std::log(10)));
}

TEST_CASE("a value whose bound reaches across zero, or that did not converge, is hollow",
          "[spectra]") {
  const TemporaryFolder folder;
  const auto converged = build_figures(only_spectrum(folder));
  CHECK(figure(converged, "spectrum_hessian_eigenvalues").series[0].hollow ==
        std::vector<std::uint8_t>{0, 0, 0, 1, 0, 0});
  const TemporaryFolder other;
  // Residuals to 1e-2 of 60 were asked for, which 0.4 is within and a bound of 0.2 as well.
  const auto early = build_figures(only_spectrum(other, 3, "max_products"));
  CHECK(figure(early, "spectrum_hessian_eigenvalues").series[0].hollow ==
        std::vector<std::uint8_t>{0, 0, 0, 1, 0, 0});
  auto spectrum = stored_spectra(only_spectrum(TemporaryFolder(), 3, "max_products")).at(0);
  spectrum.tolerance = 1e-3;
  CHECK_FALSE(spectrum.resolved(2));
  spectrum.status = "inconsistent";
  CHECK_FALSE(spectrum.resolved(0));
}

TEST_CASE("the certificate says in words what the numbers are worth", "[spectra]") {
  const TemporaryFolder folder;
  const auto arms = only_spectrum(folder);
  const auto text = certificate(stored_spectra(arms).at(0), arms[0]);
  for (const char* part :
       {"Hessian after 2001 training steps (step 2000), 669,706 parameters, 1,024",
        "Converged in 34 products",
        "the widest bar being ±0.4",
        "λ1 = 60 is 0.60 % of 2 / learning rate = 10⁴ at this step.",
        "Over the distribution of the data λ1 = 54 (95 %: 51.3–56.7)",
        "4 independent batches of 256 rows λ1 reads 66",
        "exact derivatives in float (graph kept), good to 10⁻⁶"})
    CHECK_THAT(text, Contains(part));
  std::string html;
  for (const auto& figure : build_figures(arms)) html += figure_html(figure);
  CHECK_THAT(html, Contains("<ul class=\"notes\"><li>one: Hessian after 2001 training steps"));
}

TEST_CASE("what did not converge or contradicts itself is a warning, and says so", "[spectra]") {
  const TemporaryFolder early, wrong;
  const auto find = [](const std::vector<Arm>& arms) {
    for (const auto& finding : find_findings(arms)) {
      if (finding.id == "spectrum") return finding;
    }
    return Finding{};
  };
  const auto ended = find(only_spectrum(early, 3, "max_products"));
  CHECK(ended.warning);
  CHECK_THAT(ended.certainty, Contains("Not converged") && Contains("others may lie beyond"));
  const auto contradicted = find(only_spectrum(wrong, 3, "inconsistent"));
  CHECK_THAT(contradicted.certainty, Contains("Do not trust"));
  // Its records are not reported a second time as series that are not resolved.
  for (const auto& finding : find_findings(only_spectrum(TemporaryFolder(), 3, "max_products")))
    CHECK(finding.id != "unresolved");
}

TEST_CASE("2 / learning rate is drawn where the values are near it, and told where not",
          "[spectra]") {
  const TemporaryFolder near, far;
  const auto drawn = build_figures(only_spectrum(near));
  const auto& lines = figure(drawn, "spectrum_hessian_eigenvalues").lines;
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].y == Approx(1e4));
  const auto rate = sample::plain("spectrum/hessian/*/learning_rate", "", 1e-9);
  const auto told = build_figures(only_spectrum(far, 3, "converged", {rate}));
  CHECK(figure(told, "spectrum_hessian_eigenvalues").lines.empty());
  CHECK_THAT(figure(told, "spectrum_hessian_eigenvalues").caption,
             Contains("= 2×10⁹ is far above the axis"));
}

TEST_CASE("layers of an eigenvector are rows, weight and bias as one, and 24 layers still fit",
          "[spectra]") {
  const TemporaryFolder few, many;
  const auto small = build_figures(only_spectrum(few));
  const Figure& three = figure(small, "spectrum_hessian_vectors");
  REQUIRE(three.panels.size() == 1);
  CHECK(three.panels[0].y.ticks.size() == 6);
  CHECK(three.panels[0].y.ticks.back().label == "blocks.0.down");
  const auto total = [](const Figure& figure) {
    double sum = 0;
    for (const Series& series : figure.series) sum += series.shade.at(0);
    return sum;
  };
  CHECK(total(three) == Approx(1));
  const auto large = build_figures(only_spectrum(many, 24));
  const Figure& merged = figure(large, "spectrum_hessian_vectors");
  CHECK(merged.panels[0].y.ticks.size() == 24);
  CHECK(merged.panels[0].y.ticks.back().label == "blocks.0");
  CHECK(total(merged) == Approx(1));
  CHECK_THAT(merged.caption, Contains("merged"));
}

TEST_CASE("outliers are marks on the density, and its share ends at one", "[spectra]") {
  const TemporaryFolder folder;
  const auto figures = build_figures(only_spectrum(folder));
  const Figure& density = figure(figures, "spectrum_hessian_density");
  const auto marks = std::find_if(density.series.begin(),
                                  density.series.end(),
                                  [](const Series& s) { return s.draw == Draw::kPoints; });
  REQUIRE(marks != density.series.end());
  CHECK(marks->x == std::vector<double>{60, 25});
  CHECK_THAT(marks->hover[0], Contains("60 ± 10⁻³"));
  CHECK(density.panels[0].y.log);
  CHECK_FALSE(density.panels[1].y.log);
  CHECK_THAT(density.notes.at(0), Contains("3.2 ± 0.4 of the 669,706") && Contains("20 %"));
}

TEST_CASE("a stored table of another shape is left out instead of misread", "[spectra]") {
  const TemporaryFolder folder;
  {
    auto run = store::RunWriter::create(folder / "one", {});
    store::Snapshot snapshot;
    snapshot.arrays.push_back({"spectrum/hessian/*/eigenvalues", "", {2, 1}, {1, 2}});
    snapshot.arrays.push_back({"spectrum/ggn/a/b/eigenvalues", "", {3, 1}, {1, 2, 3}});
    run.write(snapshot);
  }
  auto arms = read_arms({folder / "one"});
  arms[0].arrays[{"spectrum/eigenvalues", ""}] = {
      {0, {"spectrum/eigenvalues", "", {3, 1}, {1, 2, 3}}}};  // by no program of ours
  const auto found = stored_spectra(arms);
  REQUIRE(found.size() == 1);
  CHECK(found[0].kind == "ggn");
  CHECK(found[0].block == "a/b");
  CHECK(found[0].title() == "Gauss-Newton matrix of a/b");
}

TEST_CASE("a spectrum without numbers is a sentence and not an empty frame", "[spectra]") {
  const TemporaryFolder folder;
  {
    auto run = store::RunWriter::create(folder / "one", {{"label", "one"}});
    store::Snapshot snapshot;
    snapshot.arrays.push_back({"spectrum/hessian/*/eigenvalues", "", {3, 0}, {}});
    snapshot.scalars.push_back(
        {.name = "spectrum/hessian/*/status", .value = kNan, .status = "non_finite"});
    run.write(snapshot);
  }
  const auto figures = build_figures(read_arms({folder / "one"}));
  CHECK_THAT(figure(figures, "spectrum_hessian_eigenvalues").missing,
             Contains("No eigenvalue: a product was not finite."));
}

}  // namespace kappascope::reports
