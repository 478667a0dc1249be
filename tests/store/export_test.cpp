// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/export.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kappascope/core/error.h"
#include "kappascope/store/run_writer.h"
#include "store/fixture.h"
#include "support/catch.h"

using namespace kappascope;
using namespace kappascope::store;
using namespace kappascope::store::test;
using Catch::Matchers::Contains;
using Json = nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("CSV quotes what needs it, keeps every digit and leaves what is missing empty") {
  const TemporaryFolder scratch;
  std::ostringstream out;
  export_csv(awkward_run(scratch.path()), out);
  CHECK(out.str() ==
        "step,name,layer,value,lower,upper,n,n_effective,status,attributes\r\n"
        "10,features/products,,30,,,,,ok,\"{\"\"route\"\":\"\"factorisation\"\"}\"\r\n"
        "20,features/products,,60,,,,,ok,\"{\"\"route\"\":\"\"factorisation\"\"}\"\r\n"
        "10,kappa/sigma,\"a, \"\"b\"\"\",inf,0.3333333333333333,inf,100,,not_resolvable,\r\n"
        "20,kappa/sigma,\"a, \"\"b\"\"\",,0.3333333333333333,inf,100,,not_resolvable,\r\n"
        "10,loss/train,,1,,,,,ok,\r\n"
        "20,loss/train,,2,,,,,ok,\r\n");
}

TEST_CASE("no name in CSV is a formula of a spreadsheet") {
  const TemporaryFolder scratch;
  auto writer = RunWriter::create(scratch / "run", {});
  for (const char* layer : {"=HYPERLINK(\"x\")", "+1", "-1", "@SUM", "\ta", "\ra", "a=b"})
    writer.write({.step = 1, .scalars = {{.name = "user/x", .layer = layer, .value = -1}}});
  std::ostringstream out;
  export_csv(RunReader(scratch / "run"), out);
  for (const char* field : {"\"'=HYPERLINK(\"\"x\"\")\",-1",
                            ",'+1,-1",
                            ",'-1,-1",
                            ",'@SUM,-1",
                            ",'\ta,-1",
                            "\"'\ra\",-1",
                            ",a=b,-1"})
    CHECK_THAT(out.str(), Contains(field));
}

TEST_CASE("JSON lines hold everything, and say what JSON has no number for") {
  const TemporaryFolder scratch;
  std::stringstream out;
  export_jsonl(awkward_run(scratch.path()), out);
  std::map<std::string, std::vector<Json>> lines;
  for (std::string line; std::getline(out, line);) {
    const Json object = Json::parse(line);
    lines[object["type"]].push_back(object);
  }
  CHECK(lines["run"] ==
        std::vector<Json>{{{"type", "run"}, {"state", "finished"}, {"last_step", 20}}});
  CHECK(lines["fact"].at(0) ==
        Json{{"type", "fact"}, {"key", "label"}, {"value", "a \"quoted\"\nname"}});
  REQUIRE(lines["scalar"].size() == 6);
  CHECK(lines["scalar"][0]["attributes"] == Json{{"route", "factorisation"}});
  CHECK(lines["scalar"][2] == Json{{"type", "scalar"},
                                   {"step", 10},
                                   {"name", "kappa/sigma"},
                                   {"layer", "a, \"b\""},
                                   {"value", nullptr},
                                   {"lower", 1.0 / 3},
                                   {"upper", nullptr},
                                   {"n", 100.0},
                                   {"nonfinite", {{"value", "inf"}, {"upper", "inf"}}},
                                   {"status", "not_resolvable"}});
  CHECK(lines["scalar"][3]["value"].is_null());
  CHECK(lines["scalar"][3]["nonfinite"] == Json{{"upper", "inf"}});
  CHECK_FALSE(lines["scalar"][4].contains("nonfinite"));
  CHECK_FALSE(lines["scalar"][4].contains("lower"));
  REQUIRE(lines["array"].size() == 4);
  CHECK(lines["array"][0] == Json{{"type", "array"},
                                  {"step", 10},
                                  {"name", "user/density"},
                                  {"layer", ""},
                                  {"shape", {2, 2}},
                                  {"data", {1.0, nullptr, nullptr, 10.0}},
                                  {"nonfinite", {{"1", "-inf"}, {"2", "nan"}}}});
  REQUIRE(lines["event"].size() == 2);
  CHECK(lines["event"][1]["message"] == "not utf-8: \xef\xbf\xbd");
  REQUIRE(lines["verdict"].size() == 2);
  CHECK(lines["verdict"][0]["detail"]["margin"] == 0.5);
  CHECK(lines["verdict"][1]["detail"] == "no json");
}

TEST_CASE("an output that takes no more is an error") {
  const TemporaryFolder scratch;
  const RunReader run = awkward_run(scratch.path());
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  REQUIRE_THROWS_WITH(export_csv(run, out), Contains("disk full"));
  REQUIRE_THROWS_AS(export_jsonl(run, out), Error);
}

TEST_CASE("a verdict that is brackets alone is a text, however deep they lie") {
  const TemporaryFolder scratch;
  constexpr std::size_t kDepth = 200'000;
  const auto deep = std::string(kDepth, '[') + std::string(kDepth, ']');
  RunWriter::create(scratch / "run", {}).write_verdict({"P-L2", "holds", "", deep});
  std::ostringstream out;
  export_jsonl(RunReader(scratch / "run"), out);
  CHECK_THAT(out.str(), Contains(R"("detail":"[[[)"));
}

TEST_CASE("runs that are exported together are told apart in every row") {
  const TemporaryFolder scratch;
  const auto first = awkward_run(scratch / "a"), second = awkward_run(scratch / "b");
  const std::vector<NamedRun> runs = {{"x,1", &first}, {"y/../z", &second}};
  const auto text_of = [](const auto& write) {
    std::ostringstream out;
    write(out);
    return out.str();
  };
  const auto csv = text_of([&](std::ostream& out) { export_csv(runs, out); });
  const auto alone = text_of([&](std::ostream& out) { export_csv(first, out); });
  CHECK_THAT(csv, Contains("attributes,run\r\n") && Contains(",ok,,\"x,1\"\r\n"));
  CHECK(std::ranges::count(csv, '\n') == 2 * std::ranges::count(alone, '\n') - 1);
  std::istringstream lines(text_of([&](std::ostream& out) { export_jsonl(runs, out); }));
  std::map<std::string, int> counts;
  for (std::string line; std::getline(lines, line);) {
    const auto object = Json::parse(line);
    ++counts[object["run"]];
  }
  CHECK(counts["x,1"] == counts["y/../z"]);
  CHECK(counts.size() == 2);
  export_npz(runs, scratch / "all.npz");
  CHECK(fs::file_size(scratch / "all.npz") > 0);
}
