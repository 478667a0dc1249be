// SPDX-License-Identifier: Apache-2.0
#include "reports/figures.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "reports/html/figure_json.h"
#include "reports/sample_run.h"
#include "support/catch.h"

namespace kappascope::reports {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<Arm> sample_arms(const TemporaryFolder& folder) {
  return read_arms({write_sample_run(folder / "a"),
                    write_sample_run(folder / "b", {.label = "post-gating bias", .bias = true})});
}

const Figure& figure(const std::vector<Figure>& figures, const std::string& id) {
  const auto found =
      std::find_if(figures.begin(), figures.end(), [&](const Figure& f) { return f.id == id; });
  REQUIRE(found != figures.end());
  return *found;
}

void check_consistent(const Figure& figure) {
  INFO(figure.id);
  std::set<std::size_t> used;
  for (const Series& series : figure.series) {
    used.insert(series.panel);
    CHECK(series.panel < figure.panels.size());
    CHECK(series.y.size() == series.x.size());
    CHECK(series.hollow.size() == series.x.size());
    for (const auto* side : {&series.lower, &series.upper}) {
      CHECK((side->empty() || side->size() == series.x.size()));
    }
    CHECK((series.hover.empty() || series.hover.size() == series.x.size()));
  }
  for (const Panel& panel : figure.panels) {
    CHECK(std::isfinite(panel.y.min));
    CHECK(std::isfinite(panel.y.max));
    CHECK(panel.y.min < panel.y.max);
    CHECK((!panel.y.log || panel.y.min > 0));
    CHECK(!panel.y.title.empty());
  }
  CHECK(used.size() == figure.panels.size());
  CHECK(figure.panels.empty() == !figure.missing.empty());
}

store::Snapshot at_step(std::int64_t step, store::Scalar scalar) {
  store::Snapshot snapshot;
  snapshot.step = step;
  snapshot.scalars.push_back(std::move(scalar));
  return snapshot;
}

}  // namespace

TEST_CASE("the sample runs fill every figure, each consistent in itself", "[figures]") {
  const TemporaryFolder folder;
  const auto figures = build_figures(sample_arms(folder));
  std::string approved;
  for (const Figure& one : figures) {
    check_consistent(one);
    approved += one.id + ": " + std::to_string(one.panels.size()) + " panels, " +
                std::to_string(one.series.size()) + " series\n";
  }
  CHECK(approved ==
        "overview: 5 panels, 11 series\n"
        "throughput: 4 panels, 10 series\n"
        "kappa_layers: 3 panels, 15 series\n"
        "kappa_costs: 3 panels, 9 series\n"
        "intercept_absorption: 6 panels, 6 series\n"
        "hessian_eigenvalues: 4 panels, 22 series\n"
        "hessian_density: 1 panels, 4 series\n"
        "magnitudes: 3 panels, 18 series\n"
        "alignment: 3 panels, 12 series\n"
        "updates: 3 panels, 18 series\n"
        "gates: 3 panels, 12 series\n"
        "routers: 3 panels, 12 series\n"
        "attention_logits: 3 panels, 6 series\n"
        "attention_entropy: 3 panels, 12 series\n"
        "layer_profile: 5 panels, 24 series\n"
        "critical_step: 1 panels, 2 series\n"
        "spectrum_hessian_eigenvalues: 2 panels, 4 series\n"
        "spectrum_hessian_density: 2 panels, 6 series\n"
        "spectrum_hessian_vectors: 2 panels, 12 series\n"
        "gradient_variance: 3 panels, 18 series\n"
        "variance_by_bias: 3 panels, 6 series\n");
}

TEST_CASE("the W_d block of an arm is that of its bias where it has one", "[figures]") {
  const TemporaryFolder folder;
  const auto arms = sample_arms(folder);
  const auto figures = build_figures(arms);
  const Figure& overview = figure(figures, "overview");
  std::size_t compared = 0;
  for (const Series& series : overview.series) {
    if (series.panel != 2) continue;
    const std::string name = series.arm == 1 ? "kappa/with_bias" : "kappa/second_moment";
    CHECK(series.y.back() == arms[series.arm].last(name, "blocks.2.down_proj")->scalar.value);
    ++compared;
  }
  CHECK(compared == 2);
}

TEST_CASE("the first figure says what its bands are", "[figures]") {
  const TemporaryFolder folder;
  const auto caption = [&](const char* name, bool hessian) {
    const auto arms = read_arms({write_sample_run(folder / name, {.hessian = hessian})});
    return figure(build_figures(arms), "overview").caption;
  };
  CHECK_THAT(caption("a", false), Catch::Contains(" Bands: 95 % intervals."));
  CHECK_THAT(
      caption("b", true),
      Catch::Contains(" Bands: 95 % intervals; of the sharpness, bounds of the eigenvalue."));
}

TEST_CASE("arms of one problem are shown over the first at equal steps, and others not",
          "[figures]") {
  const TemporaryFolder folder;
  const auto run = [&](const char* name, double loss, std::int64_t every, const char* data) {
    auto writer = store::RunWriter::create(folder / name, {{"label", name}, {"data", data}});
    for (std::int64_t step = 0; step <= 60; step += every)
      writer.write({.step = step, .scalars = {sample::plain("loss/test", "", loss)}});
    return folder / name;
  };
  const auto ratios = [&](const std::vector<std::filesystem::path>& runs) {
    std::vector<Series> out;
    const auto figures = build_figures(read_arms(runs));
    for (const auto& series : figure(figures, "overview").series)
      if (series.quantity == "test loss, relative") out.push_back(series);
    return out;
  };
  const auto base = run("base", 2, 10, "d");
  const auto found = ratios({base, run("half", 1, 15, "d"), run("elsewhere", 1, 10, "e")});
  REQUIRE(found.size() == 1);
  CHECK(found[0].arm == 1);
  CHECK(found[0].x == std::vector<double>{0, 30, 60});
  CHECK(found[0].y == std::vector<double>{0.5, 0.5, 0.5});
  CHECK(ratios({base}).empty());
  CHECK(ratios({run("zero", 0, 10, "d"), base}).empty());
}

TEST_CASE("what the mean costs is a quotient by layer, and dashed what a bias leaves of it",
          "[figures]") {
  const TemporaryFolder folder;
  const auto run = [&](const char* name, std::vector<store::Scalar> scalars) {
    auto writer = store::RunWriter::create(folder / name, {{"label", name}});
    writer.write({.step = 9, .scalars = std::move(scalars)});
    return folder / name;
  };
  const auto figures =
      build_figures(read_arms({run("none", {sample::scalar("learning/mean_costs", "a", 1.5, 0.1)}),
                               run("bias",
                                   {sample::scalar("learning/mean_costs", "b", 2, 0.1),
                                    sample::scalar("learning/bias_leaves", "b", 1.2, 0.1)})}));
  const Figure& costs = figure(figures, "mean_costs");
  REQUIRE(costs.panels.size() == 2);
  CHECK(costs.panels[1].layer == "b");
  REQUIRE(costs.series.size() == 3);
  CHECK(costs.series[0].y == std::vector<double>{1.5});
  CHECK(costs.series[2].dash == Dash::kDash);
  CHECK(costs.series[2].panel == 1);
  CHECK(costs.lines.front().y == 1);
}

TEST_CASE("many layers are a map from dark to light, the worst three are picked", "[figures]") {
  const TemporaryFolder folder;
  const auto arms = read_arms({write_sample_run(folder / "a", {.layers = 7})});
  const auto figures = build_figures(arms);
  const Figure& map = figure(figures, "kappa_map");
  check_consistent(map);
  REQUIRE(map.panels.size() == 1);
  REQUIRE(map.panels[0].y.ticks.size() == 7);
  CHECK(map.panels[0].y.ticks[0].at == 6);  // the first layer on top
  double darkest = 0;
  double lightest = 1;
  for (const Series& row : map.series) {
    REQUIRE(row.shade.size() == row.x.size());
    REQUIRE(row.until.size() == row.x.size());
    CHECK(row.until[0] == row.x[1]);
    CHECK(row.until.back() > row.x.back());
    for (std::size_t i = 0; i < row.x.size(); ++i) {
      CHECK((row.shade[i] >= 0 && row.shade[i] <= 1));
      darkest = std::max(darkest, row.shade[i]);
      lightest = std::min(lightest, row.shade[i]);
    }
  }
  CHECK(darkest == 1);
  CHECK(lightest == 0);
  const auto json = nlohmann::json::parse(figures_json(arms, figures));
  // κ grows from block to block within three, and from three to three.
  CHECK(json["picked"] ==
        nlohmann::json({"blocks.5.down_proj", "blocks.2.down_proj", "blocks.4.down_proj"}));
  // What the page speaks of comes first.
  CHECK(picked_layers(figures, {"blocks.3.down_proj", "another"}) ==
        std::vector<std::string>{"blocks.3.down_proj", "blocks.5.down_proj", "blocks.2.down_proj"});
  const auto few = build_figures(sample_arms(TemporaryFolder()));
  CHECK(std::ranges::none_of(few, [](const Figure& f) { return f.id == "kappa_map"; }));
}

TEST_CASE("unresolved values are hollow and infinite ones stay", "[figures]") {
  const TemporaryFolder folder;
  const auto figures = build_figures(sample_arms(folder));
  const Figure& kappas = figure(figures, "kappa_layers");
  std::size_t hollow = 0;
  std::size_t infinite = 0;
  for (const Series& series : kappas.series) {
    hollow += static_cast<std::size_t>(std::count(series.hollow.begin(), series.hollow.end(), 1));
    infinite += static_cast<std::size_t>(std::count(series.y.begin(), series.y.end(), kInf));
  }
  CHECK(hollow == 6);
  CHECK(infinite == 2);
  // The infinite ones are not resolved either, and drawn as triangles.
  CHECK(kappas.caption.find("Hollow: not resolved (4)") != std::string::npos);
  CHECK(kappas.caption.find("infinite (2)") != std::string::npos);
}

TEST_CASE("medians of layers say which of a seed's numbers they are of", "[figures]") {
  const TemporaryFolder folder;
  auto arms = read_arms({write_sample_run(folder / "a")});
  const auto told = [&](const char* id) {
    return figure(build_figures(arms), id).caption.find("layers take turns") != std::string::npos;
  };
  CHECK_FALSE(told("kappa_layers"));
  arms[0].seeds = 3;
  CHECK(told("kappa_layers"));
  CHECK_FALSE(told("hessian_density"));
}

TEST_CASE("a series of nothing but infinity and gaps still has an axis", "[figures]") {
  const TemporaryFolder folder;
  {
    auto run = store::RunWriter::create(folder / "a", {});
    run.write(at_step(0, sample::plain("kappa/sigma", "x", kInf)));
    run.write(at_step(1, sample::plain("kappa/sigma", "x", std::nan(""))));
  }
  const auto figures = build_figures(read_arms({folder / "a"}));
  const Figure& kappas = figure(figures, "kappa_layers");
  REQUIRE(kappas.panels.size() == 1);
  CHECK(kappas.panels[0].y.max > kappas.panels[0].y.min);
  CHECK(kappas.caption.find("Gaps: no value (1)") != std::string::npos);
}

TEST_CASE("what was not measured says so in one sentence", "[figures]") {
  const TemporaryFolder folder;
  const auto arms = read_arms({write_sample_run(folder / "a", {.hessian = false})});
  const auto figures = build_figures(arms);
  CHECK(figure(figures, "hessian_eigenvalues").missing.find("did not run") != std::string::npos);
  CHECK(figure(figures, "hessian_density").panels.empty());
  CHECK(figure(figures, "intercept_absorption").missing ==
        "No arm has a post-gating bias to measure.");
  store::RunWriter::create(folder / "empty", {});
  for (const Figure& one : build_figures(read_arms({folder / "empty"}))) {
    INFO(one.id);
    CHECK(one.panels.empty());
    CHECK(one.missing.back() == '.');
  }
}

TEST_CASE("a band widens the axis but cannot flatten the values", "[figures]") {
  const TemporaryFolder folder;
  {
    auto run = store::RunWriter::create(folder / "a", {});
    for (int step = 0; step < 3; ++step) {
      store::Scalar s = sample::scalar("kappa/sigma", "x", 10 + step, 0.1);
      s.upper = step == 1 ? 1e300 : 14;
      run.write(at_step(step, s));
    }
  }
  const Axis y = figure(build_figures(read_arms({folder / "a"})), "kappa_layers").panels[0].y;
  CHECK(y.max > 14);
  CHECK(y.max < 1000);
}

TEST_CASE("thinning keeps ends, peaks and every unresolved point, and is admitted", "[figures]") {
  const TemporaryFolder folder;
  constexpr std::int64_t kSteps = 20'000;
  {
    auto run = store::RunWriter::create(folder / "a", {});
    std::vector<store::Snapshot> snapshots;
    for (std::int64_t step = 0; step < kSteps; ++step) {
      auto loss = sample::plain("loss/train", "", step == 12'345 ? 50 : 1 + 1e-6 * (step % 97));
      if (step == 777) loss.status = "non_finite";
      snapshots.push_back(at_step(step, loss));
    }
    run.write(snapshots);
  }
  const auto arms = read_arms({folder / "a"});
  CHECK(build_figures(arms, 100'000)[0].series[0].x.size() == kSteps);
  const auto figures = build_figures(arms, 1000);
  const Series& thinned = figures[0].series[0];
  CHECK(thinned.x.size() <= 1100);
  CHECK(thinned.x.front() == 0);
  CHECK(thinned.x.back() == kSteps - 1);
  CHECK(*std::max_element(thinned.y.begin(), thinned.y.end()) == 50);
  CHECK(std::count(thinned.hollow.begin(), thinned.hollow.end(), 1) == 1);
  CHECK(figures[0].caption.find("of 20000 values") != std::string::npos);
}

TEST_CASE("a density of the wrong shape is left out instead of misread", "[figures]") {
  const TemporaryFolder folder;
  {
    auto run = store::RunWriter::create(folder / "a", {});
    store::Snapshot snapshot;
    snapshot.arrays.push_back({"hessian/density", "", {3, 2}, {0, 1, 2, 3, 4, 5}});
    run.write(snapshot);
  }
  CHECK(figure(build_figures(read_arms({folder / "a"})), "hessian_density").panels.empty());
}

}  // namespace kappascope::reports
