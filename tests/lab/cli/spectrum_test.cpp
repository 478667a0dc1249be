// SPDX-License-Identifier: Apache-2.0
// `kappascope spectrum`: what it prints, what it leaves in the run, and what the report makes of
// it.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kappascope/store/run.h"
#include "support/catch.h"
#include "support/emitted.h"
#include "support/workplace.h"

using Catch::Contains;
using Catch::StartsWith;
using kappascope::store::RunReader;
using kappascope::store::RunWriter;
using kappascope::testing::Workplace;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// A run of 20 steps in work/run.
void train(const Workplace& work) {
  REQUIRE(work.run(Workplace::train("--train.steps 20 --probes.hessian false --out run")).status ==
          0);
}

const std::string kShort = "spectrum run --rows 40 --top 2 ";

json printed(const Workplace& work, const std::string& more) {
  const auto got = work.run(kShort + more + " --json");
  CAPTURE(got.err);
  REQUIRE(got.status == 0);
  return json::parse(got.out);
}

double last(const RunReader& run, const std::string& name) {
  const auto points = run.scalars({name, ""});
  CAPTURE(name);
  REQUIRE_FALSE(points.empty());
  return points.back().scalar.value;
}

}  // namespace

TEST_CASE("what a spectrum prints is what the run holds and the report draws") {
  const Workplace work;
  train(work);
  const auto out = printed(work, "--which both --density --trace");
  CHECK(out["stored"] == true);
  const RunReader run(work.path() / "run");
  const std::string prefix = "spectrum/hessian/*/";
  const auto tables = run.arrays({prefix + "eigenvalues", ""});
  REQUIRE(tables.size() == 1);
  CHECK(tables[0].first == 19);  // the store counts steps from 0
  CHECK(run.last_step() == 19);
  CHECK(tables[0].second.shape == std::vector<std::int64_t>{3, 4});
  auto flat = out["eigenvalues"].get<std::vector<double>>();
  for (const char* more : {"residuals", "bounds"}) {
    const auto row = out[more].get<std::vector<double>>();
    flat.insert(flat.end(), row.begin(), row.end());
  }
  CHECK(tables[0].second.data == flat);
  CHECK(last(run, prefix + "checkpoint") == 20);
  CHECK(last(run, prefix + "rows") == 40);
  CHECK(last(run, prefix + "trace") == out["trace"]["value"].get<double>());
  CHECK(last(run, prefix + "learning_rate") == out["learning_rate"].get<double>());
  const auto kind = run.scalars({prefix + "product_kind", ""}).back().scalar;
  CHECK(kind.status == "ok");
  CHECK(kind.attributes.at("text") == "graph kept");
  const auto density = run.arrays({prefix + "density", ""}).at(0).second;
  const auto points = static_cast<std::int64_t>(out["density"]["grid"].size());
  CHECK(density.shape == std::vector<std::int64_t>{7, points});
  CHECK(density.data.back() == out["density"]["cumulative_upper"].back().get<double>());
  double whole = 0;
  for (const auto& key : run.array_series()) {
    if (key.name == prefix + "share") whole += run.arrays(key).at(0).second.data.at(0);
  }
  CHECK(whole == Approx(1));

  REQUIRE(work.run("report run --out page.html").status == 0);
  CHECK_THAT(
      kappascope::testing::slurp(work.path() / "page.html"),
      Contains("plot-spectrum_hessian_eigenvalues") && Contains("plot-spectrum_hessian_density") &&
          Contains("plot-spectrum_hessian_vectors") && Contains("Hessian after 20 training steps"));
}

TEST_CASE("a later spectrum takes the earlier one's place, part by part; others stand beside it") {
  const Workplace work;
  train(work);
  printed(work, "--trace --which both");
  const auto again = printed(work, "--which largest --tolerance 1e-2");
  printed(work, "--operator ggn");
  printed(work, "--block 'blocks.*'");
  const RunReader run(work.path() / "run");
  const auto table = run.arrays({"spectrum/hessian/*/eigenvalues", ""});
  REQUIRE(table.size() == 1);
  CHECK(table[0].second.shape[1] == 2);
  CHECK(table[0].second.data[0] == again["eigenvalues"][0].get<double>());
  const auto smallest = run.scalars({"spectrum/hessian/*/lambda_min_1", ""}).back().scalar;
  CHECK(std::isnan(smallest.value));
  CHECK(smallest.status == "not_asked");
  CHECK_FALSE(run.scalars({"spectrum/hessian/*/trace", ""}).empty());
  CHECK_FALSE(run.scalars({"spectrum/ggn/*/lambda_1", ""}).empty());
  CHECK_FALSE(run.scalars({"spectrum/hessian/blocks.*/lambda_1", ""}).empty());
  const auto events = run.events();
  CHECK(std::count_if(events.begin(), events.end(), [](const auto& each) {
          return each.event.kind == "spectrum";
        }) == 4);
}

TEST_CASE(
    "the default is the largest end; what was not looked at is said, stored and in the JSON") {
  const Workplace work;
  train(work);
  const auto out = printed(work, "");
  CHECK(out["which"] == "largest");
  CHECK(out["eigenvalues"].size() == 2);
  CHECK(out["multiplicity_checked"] == false);
  const auto& other = out["other_end"];
  REQUIRE(other.is_object());
  CHECK(other["value"] < out["eigenvalues"].back());
  const RunReader run(work.path() / "run");
  const std::string prefix = "spectrum/hessian/*/";
  CHECK(last(run, prefix + "other_end") == other["value"].get<double>());
  CHECK(last(run, prefix + "multiplicity") == 0);
  const auto text = work.run(kShort + "--no-store");
  CHECK_THAT(text.out,
             Contains("Multiplicity was not looked for") && Contains("ask with --find-repeated") &&
                 Contains("the same space"));
  const auto both = printed(work, "--which both --find-repeated");
  CHECK(both["other_end"].is_null());
  CHECK(both["multiplicity_checked"] == true);
  CHECK(both["products"] > out["products"]);
  const RunReader again(work.path() / "run");
  CHECK(last(again, prefix + "multiplicity") == 1);
  CHECK(again.scalars({prefix + "other_end", ""}).back().scalar.status == "not_recorded");
}

TEST_CASE("a density is a picture on the terminal, and numbers in the file that was named") {
  const Workplace work;
  train(work);
  const auto got = work.run(kShort + "--no-store --density-out density.csv");
  CAPTURE(got.err);
  REQUIRE(got.status == 0);
  CHECK(std::count(got.out.begin(), got.out.end(), '\n') < 25);
  CHECK_THAT(got.out,
             Contains("█") && Contains("of the spectrum is negative (estimate ") &&
                 Contains("The numbers are in density.csv."));
  const auto csv = kappascope::testing::slurp(work.path() / "density.csv");
  CHECK_THAT(csv, StartsWith("grid,density,lower,upper,cumulative,"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 513);
  const auto without = work.run(kShort + "--no-store --density");
  CHECK_THAT(without.out, Contains("pass --density-out FILE or --json."));
}

TEST_CASE("a run that is being written, or --no-store, leaves the run alone and prints the same") {
  const Workplace work;
  train(work);
  const auto none = printed(work, "--no-store");
  CHECK(none["stored"] == false);
  {
    const auto writer = RunWriter::append(work.path() / "run");
    const auto held = work.run(kShort + "--json");
    CHECK(held.status == 0);
    CHECK_THAT(held.err, Contains("not stored: ") && Contains("being written by process"));
    const auto out = json::parse(held.out);
    CHECK(out["stored"] == false);
    CHECK(out["eigenvalues"] == none["eigenvalues"]);
  }
  CHECK(RunReader(work.path() / "run").arrays({"spectrum/hessian/*/eigenvalues", ""}).empty());
}

TEST_CASE("a run in a folder that may not be written is measured and printed all the same") {
  const Workplace work;
  train(work);
  // For root no permission forbids anything; a folder in the place of the lock does.
  fs::remove(work.path() / "run/writer.lock");
  fs::create_directory(work.path() / "run/writer.lock");
  const auto got = work.run(kShort);
  CHECK(got.status == 0);
  CHECK_THAT(got.err, Contains("not stored: cannot use run/writer.lock: it is a directory"));
  CHECK_THAT(got.out, Contains("within its +- of an eigenvalue"));
}

TEST_CASE("a spectrum that is killed while it measures leaves no part of a record") {
  const Workplace work;
  train(work);
  const auto killed = work.run(
      kShort + "--which both --find-repeated --tolerance 1e-12 --max-products 1000000 --top 200",
      "timeout -s KILL 4");
  const RunReader run(work.path() / "run");
  for (const auto& key : run.series()) CHECK(key.name.rfind("spectrum/", 0) != 0);
  CHECK(killed.status != 0);
  CHECK(printed(work, "")["stored"] == true);
}

TEST_CASE("over batches and to an interval: the sampling error, printed and stored") {
  const Workplace work;
  train(work);
  const auto got =
      work.run(kShort + "--batches 4 --interval 30% --which largest --json --tolerance 1e-2");
  REQUIRE(got.status == 0);
  const auto out = json::parse(got.out);
  const auto& batches = out["batches"];
  REQUIRE(batches["values"].size() == 4);
  double mean = 0;
  for (const auto& row : batches["values"]) mean += row[0].get<double>() / 4;
  CHECK(batches["mean"]["value"][0].get<double>() == Approx(mean));
  CHECK(batches["corrected"]["lower"][0] <= batches["corrected"]["value"][0]);
  const auto& leading = out["leading"];
  CHECK(leading["asked"] == 0.3);
  CHECK(leading["lower"] <= leading["value"]);
  CHECK(leading["value"] <= leading["upper"]);
  const RunReader run(work.path() / "run");
  const auto table = run.arrays({"spectrum/hessian/*/batches", ""}).at(0).second;
  CHECK(table.shape == std::vector<std::int64_t>{10, 2});
  CHECK(table.data[0] == batches["mean"]["value"][0].get<double>());
  CHECK(last(run, "spectrum/hessian/*/leading") == leading["value"].get<double>());
  printed(work, "--density --trace");
  CHECK(kappascope::testing::not_emitted(run, {kappascope::store::Emitter::kSpectrum}).empty());
  const auto text = work.run(kShort + "--batches 4 --interval 0.3 --which largest --no-store");
  CHECK_THAT(text.out,
             Contains("4 independent batches of 40 rows") &&
                 Contains("lambda_1 over the distribution of the data"));
  CHECK_THAT(text.err, Contains("batches: ") && Contains("interval: "));
}

TEST_CASE("an interval asked for later leaves the eigenvalues of the batch that are there") {
  const Workplace work;
  train(work);
  REQUIRE(work.run("spectrum run --interval 50%").status == 0);  // none yet: its own are stored
  const RunReader run(work.path() / "run");
  CHECK(last(run, "spectrum/hessian/*/top") == 5);
  REQUIRE(work.run(kShort + "--batches 4").status == 0);
  const auto lambda = last(run, "spectrum/hessian/*/lambda_1");
  REQUIRE(work.run("spectrum run --interval 50%").status == 0);
  CHECK(last(run, "spectrum/hessian/*/top") == 2);
  CHECK(last(run, "spectrum/hessian/*/rows") == 40);
  CHECK(last(run, "spectrum/hessian/*/lambda_1") == lambda);
  CHECK(last(run, "spectrum/hessian/*/batches_rows") == 40);
  REQUIRE(work.run("spectrum run --interval 50% --top 3").status == 0);  // asked for: replaced
  CHECK(last(run, "spectrum/hessian/*/top") == 3);
}

TEST_CASE("as the optimiser sees it: what the probe measured at these weights, beside its limit") {
  const Workplace work;
  // Before the update of step 19 the probe sees what the checkpoint of 19 steps holds.
  const std::string common =
      "--train.steps 20 --train.checkpoint-every 1 --train.schedule constant "
      "--probes.hessian-tolerance 1e-6 ";
  REQUIRE(work.run(Workplace::train(common + "--out run")).status == 0);
  const auto got = [&](const std::string& words) {
    const auto out = work.run("spectrum run --rows 40 --top 1 --tolerance 1e-6 --step 19 " + words);
    CAPTURE(out.err);
    REQUIRE(out.status == 0);
    return out.out;
  };
  const auto out = json::parse(got("--operator preconditioned --json"));
  const RunReader run(work.path() / "run");
  const auto probed = [&](const std::string& name) {
    for (const auto& point : run.scalars({name, ""}))
      if (point.step == 19) return point.scalar.value;
    FAIL(name << " was not measured at step 19");
    return 0.0;
  };
  CHECK(out["eigenvalues"][0].get<double>() ==
        Approx(probed("hessian/preconditioned")).epsilon(1e-3));
  CHECK(out["eigenvalues"][0].get<double>() != Approx(probed("hessian/lambda_1")).epsilon(0.1));
  // (2 + 2 · 0.9) / (1 − 0.9) at the default rate.
  CHECK(out["stability_limit"].get<double>() == Approx(38 / 1e-3));
  CHECK(out["stability_limit"].get<double>() == Approx(probed("hessian/stability_limit")));
  CHECK(last(run, "spectrum/preconditioned/*/stability_limit") == out["stability_limit"]);
  const auto text = got("--operator preconditioned --batches 4 --density");
  CHECK_THAT(text, Contains("the stability limit of the run's optimiser at learning rate 0.001"));
  // Adam does not see the plain Hessian: no limit of its own, and a landmark in words.
  const auto plain = json::parse(got("--operator hessian --json"));
  CHECK_FALSE(plain.contains("stability_limit"));
  CHECK_THAT(got("--no-store"), Contains("plain gradient descent"));
  REQUIRE(work.run("report run --out page.html").status == 0);
  CHECK_THAT(kappascope::testing::slurp(work.path() / "page.html"),
             Contains("preconditioned Hessian after 19 training steps") &&
                 Contains("of the optimiser&#39;s limit = 3.8×10⁴"));

  // Gradient descent with momentum sees the Hessian itself.
  REQUIRE(work.run(Workplace::train(common + "--train.optimizer sgd --train.momentum 0.9 --out "
                                             "sgd"))
              .status == 0);
  const std::string sgd = "spectrum sgd --rows 40 --top 1 --step 19 --json ";
  const auto seen = json::parse(work.run(sgd + "--operator preconditioned").out);
  const auto hessian = json::parse(work.run(sgd).out);
  CHECK(seen["eigenvalues"] == hessian["eigenvalues"]);
  CHECK(seen["stability_limit"].get<double>() == Approx(3.8 / 1e-3));
  CHECK(hessian["stability_limit"] == seen["stability_limit"]);
}

TEST_CASE("invalid options are refused before the data are read") {
  const Workplace work;
  train(work);
  fs::remove_all(work.path() / "data");
  const auto check = [&](const std::string& words, const std::string& part) {
    CAPTURE(words);
    const auto got = work.run("spectrum run " + words);
    CHECK(got.status == 2);
    CHECK(got.out.empty());
    CHECK_THAT(got.err, StartsWith("kappascope: error: ") && Contains(part));
  };
  check("--operator hesse", "hessian, preconditioned, ggn, fisher or covariance");
  check("--which middle", "both, largest or smallest");
  check("--batches 3", "even number");
  check("--batches 2", "4 at least");
  check("--batches -4", "even number");
  check("--interval 5kg", "as 5% or 0.05");
  check("--interval 0", "as 5% or 0.05");
  check("--interval 200%", "as 5% or 0.05");
  check("--interval 5% --which smallest", "leave out --which smallest");
  check("--batches 4 --operator covariance", "take fisher");
  check("--rows 0", "--rows");
  check("--tolerance 0", "--tolerance");
  check("--max-products 0", "--max-products");
  check("--step -3", "--step");
  CHECK(work.run("spectrum run").status == 1);  // nothing wrong but the data
}

TEST_CASE("batches that do not fit the data are refused before anything is computed") {
  const Workplace work;
  train(work);
  const auto got = work.run("spectrum run --rows 400 --batches 4");
  CHECK(got.status == 2);
  CHECK_THAT(got.err, Contains("1600 rows") && Contains("600"));
  CHECK_THAT(got.err, !Contains("products"));
}
