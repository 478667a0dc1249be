// SPDX-License-Identifier: Apache-2.0
// The schema is complete, its documentation is printed from it, and the writer holds to it.
#include <cstdlib>
#include <regex>
#include <set>

#include "kappascope/core/error.h"
#include "store/fixture.h"
#include "support/catch.h"
#include "support/files.h"

using namespace kappascope::store;
using namespace kappascope::store::test;
using Catch::Matchers::Contains;
using kappascope::testing::slurp;
using kappascope::testing::write_bytes;

namespace {

/// The texts of all constants of one type in the headers that name series.
std::set<std::string> constants_of(const std::string& type) {
  const std::string folder = KAPPASCOPE_SCHEMA_HEADERS;
  const std::string header = slurp(folder + "/series.h") + slurp(folder + "/layer_probes.h");
  const std::regex constant("constexpr " + type + " k\\w+\\{\"([^\"]+)\"\\}");
  std::set<std::string> found;
  for (std::sregex_iterator at(header.begin(), header.end(), constant), end; at != end; ++at)
    found.insert((*at)[1]);
  return found;
}

}  // namespace

TEST_CASE("every name that a source can spell is in the schema, and nothing else is") {
  std::set<std::string> names, parts;
  for (const auto& info : schema()) {
    const auto spectrum = parse_spectrum(info.name);
    const bool is_new =
        spectrum ? parts.insert(spectrum->part).second : names.insert(info.name).second;
    INFO(info.name);
    CHECK(is_new);
  }
  CHECK(parts == constants_of("SpectrumPart"));
  auto expected = constants_of("SeriesId");
  for (const auto* family : {"hessian/lambda_K", "hessian/lambda_min_K", "cost/PROBE"})
    expected.insert(family);
  CHECK(names == expected);
  CHECK(expected.size() > 45);
}

TEST_CASE("every row says what it is, what it may be and who reads it") {
  for (const auto& info : schema()) {
    INFO(info.name);
    CHECK_FALSE(info.unit.empty());
    CHECK_FALSE(info.meaning.empty());
    CHECK((info.read_by == kStoreOnly) == !info.why_only_stored.empty());
    bool any = false;
    for (std::size_t i = 0; i < Status::kCount; ++i)
      any = any || info.statuses.contains(static_cast<Status::Value>(i));
    CHECK(any == !info.array);
    CHECK_FALSE(info.statuses.contains(Status::kOther));
  }
}

TEST_CASE("every number that a probe measures says how well it is known") {
  for (const auto& info : schema()) {
    const bool measured = info.emitter == Emitter::kLayerProbe ||
                          info.emitter == Emitter::kHessian ||
                          info.emitter == Emitter::kCriticalStep;
    if (!measured) continue;
    INFO(info.name);
    CHECK_FALSE(info.known.interval.empty());
    CHECK_FALSE(info.known.source.empty());
    CHECK_FALSE(info.known.checked.empty());
  }
}

TEST_CASE("a layer probe is listed once, by a name of its own, and says what it writes") {
  std::set<std::string_view> names;
  double parts = 0;
  for (const auto& probe : layer_probes()) {
    INFO(probe.name);
    CHECK(names.insert(probe.name).second);
    CHECK(&layer_probe(probe.name) == &probe);
    CHECK_FALSE(probe.help.empty());
    CHECK_FALSE(probe.series.empty());
    for (const auto& row : probe.series) {
      const auto* info = find_series(row.name, row.array);
      REQUIRE(info != nullptr);
      CHECK(info->emitter == Emitter::kLayerProbe);
      CHECK(info->probe == probe.name);
      CHECK(info->scope == Scope::kLayer);
    }
    parts += probe.budget_part;
  }
  CHECK(parts < 1);
  CHECK(find_series("loss/test")->probe.empty());
  CHECK_THROWS_WITH(layer_probe("featurs"), Contains("did you mean 'features'?"));
  CHECK_THROWS_WITH(layer_probe("x"), Contains("there is no layer probe 'x'; there are learning"));
}

TEST_CASE("a series is found by its name or by its family") {
  CHECK(find_series("kappa/sigma")->name == "kappa/sigma");
  CHECK(find_series("hessian/lambda_12")->name == "hessian/lambda_K");
  CHECK(find_series("hessian/lambda_min_1")->name == "hessian/lambda_min_K");
  CHECK(find_series("cost/features")->name == "cost/PROBE");
  CHECK(find_series("cost/total")->name == "cost/total");
  CHECK(find_series("cost/step_seconds")->name == "cost/step_seconds");
  CHECK(find_series("spectrum/ggn/a/b/top")->name == "spectrum/OPERATOR/BLOCK/top");
  CHECK(find_series("spectrum/ggn/*/eigenvalues", true) != nullptr);
  for (const auto* name : {"",
                           "kappa/",
                           "kappa/sigm",
                           "hessian/lambda_",
                           "hessian/lambda_0",
                           "hessian/lambda_01",
                           "hessian/lambda_x",
                           "hessian/lambda_1.5",
                           "cost/",
                           "spectrum/ggn/top",
                           "spectrum/other/*/top",
                           "spectrum/ggn/*/tip",
                           "hessian/density",  // an array
                           "user/mine"}) {
    INFO(name);
    CHECK(find_series(name) == nullptr);
  }
  CHECK(find_series("hessian/density", true) != nullptr);
  CHECK(find_series("kappa/sigma", true) == nullptr);
}

TEST_CASE("names are put together and taken apart") {
  CHECK(id::kHessianLambda.at(3) == "hessian/lambda_3");
  CHECK(id::kCost.of("features") == "cost/features");
  CHECK(id::kUser.of("mine") == "user/mine");
  CHECK(median_over_steps(id::kLossTest) == "loss/test@median");
  const auto name = spectrum_series("ggn", "a/b", part::kTrace);
  CHECK(name == "spectrum/ggn/a/b/trace");
  const auto found = parse_spectrum(name);
  REQUIRE(found);
  CHECK(found->operator_kind == "ggn");
  CHECK(found->block == "a/b");
  CHECK(found->part == "trace");
  CHECK_FALSE(parse_spectrum("spectrum/trace"));
  CHECK_FALSE(parse_spectrum("kappa/sigma/x/y"));
}

TEST_CASE("the writer takes what is in the schema, and a user's own") {
  const TemporaryFolder scratch;
  auto run = RunWriter::create(scratch.path(), {});
  const auto refuses = [&](const Scalar& scalar, const std::string& why) {
    INFO(scalar.name);
    CHECK_THROWS_WITH(run.write({.step = 0, .scalars = {scalar}}), Contains(why));
  };
  refuses({.name = "kappa/sigme", .value = 1, .status = "resolved"},
          "'kappa/sigme' is not in the schema");
  refuses({.name = "mine", .value = 1}, "begins with user/");
  refuses({.name = "kappa/sigma", .value = 1, .status = "converged"},
          "may be resolved, biased, not_resolvable, degenerate, not converged");
  refuses({.name = "loss/test", .value = 1, .attributes = {{"route", "x"}}},
          "has no attribute 'route'");
  refuses({.name = "user/x", .value = 1, .status = Status::kOther}, "no meaning");
  CHECK_THROWS_WITH(run.write({.step = 0, .arrays = {{"mine", "", {1}, {1}}}}),
                    Contains("not in the schema"));
  CHECK(RunReader(scratch.path()).last_step() == -1);

  run.write({.step = 0,
             .scalars = {{.name = "user/x",
                          .layer = "a",
                          .value = 1,
                          .status = "biased",
                          .attributes = {{"why", "\xffodd"}}},
                         {.name = id::kFeatureProducts,
                          .layer = "a",
                          .value = 0,
                          .attributes = {{attribute::kRoute, "decomposition"}}}},
             .arrays = {{"user/t", "", {1}, {1}}}});
  const RunReader reader(scratch.path());
  CHECK(reader.scalars({"user/x", "a"}).at(0).scalar.attributes ==
        Attributes{{"why", "\xef\xbf\xbdodd"}});
  CHECK(reader.scalars({id::kFeatureProducts, "a"}).at(0).scalar.attributes ==
        Attributes{{"route", "decomposition"}});
}

TEST_CASE("a status is one of a list, and says what its number may be used for") {
  for (std::size_t i = 0; i < Status::kCount; ++i) {
    const Status status(static_cast<Status::Value>(i));
    CHECK(Status::parse(status.text()) == status);
    // What is resolved may be compared.
    CHECK((!is_resolved(status) || is_comparable(status)));
  }
  CHECK_THROWS_WITH(Status::parse("splendid"), Contains("splendid"));
  const auto scalar = [](double value, Status status) {
    return Scalar{.name = "kappa/sigma", .value = value, .status = status};
  };
  for (const Status good : {Status::kOk, Status::kResolved, Status::kConverged, Status::kReached}) {
    CHECK(usable(scalar(1, good)));
    CHECK(is_resolved(scalar(1, good)));
    CHECK_FALSE(usable(scalar(kNan, good)));
  }
  CHECK(usable(scalar(1, Status::kBiased)));
  CHECK_FALSE(is_resolved(scalar(1, Status::kBiased)));
  for (const Status bad : {Status::kNotResolvable,
                           Status::kDegenerate,
                           Status::kMaxProducts,
                           Status::kInconsistent,
                           Status::kDataEnded,
                           Status::kBudget,
                           Status::kNonFinite,
                           Status::kUndefined,
                           Status::kNotAsked,
                           Status::kNotRecorded,
                           Status::kResumed,
                           Status::kOther}) {
    CHECK_FALSE(usable(scalar(1, bad)));
    CHECK_FALSE(is_resolved(scalar(1, bad)));
  }
}

TEST_CASE("the tables of the documentation are printed from the schema") {
  struct Page {
    std::string file, found;
  };
  for (const auto& [file, found] : {Page{KAPPASCOPE_STORE_README, schema_markdown()},
                                    Page{KAPPASCOPE_QUANTITIES, quantities_markdown()}}) {
    const std::string begin = "<!-- series: printed from the schema, do not edit -->\n",
                      end = "<!-- end of series -->\n";
    std::string text = slurp(file);
    const auto from = text.find(begin), to = text.find(end);
    REQUIRE(from != std::string::npos);
    REQUIRE(to != std::string::npos);
    const auto start = from + begin.size();
    const std::string approved = text.substr(start, to - start);
    if (const char* approve = std::getenv("KAPPASCOPE_APPROVE");
        approve != nullptr && std::string(approve) == "1") {
      write_bytes(file, text.replace(start, to - start, found));
    }
    INFO("to accept the new table, run this test with KAPPASCOPE_APPROVE=1 and read the diff");
    CHECK(found == approved);
  }
}
