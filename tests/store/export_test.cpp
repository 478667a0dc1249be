// SPDX-License-Identifier: Apache-2.0
#include "kappascope/store/export.h"

#include <zip.h>

#include <cstring>
#include <fstream>
#include <iterator>
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

namespace {

/// A run with everything that is hard to export.
RunReader awkward_run(const fs::path& dir) {
  auto writer = RunWriter::create(dir, {{"label", "a \"quoted\"\nname"}});
  for (const int step : {10, 20}) {
    writer.write(
        {.step = step,
         .scalars = {{.name = "loss/train", .layer = "", .value = 0.1 * step},
                     {.name = "features/products",
                      .value = 3.0 * step,
                      .attributes = {{"route", "factorisation"}}},
                     {.name = "kappa/sigma",
                      .layer = "a, \"b\"",
                      .value = step == 10 ? kInfinity : kNan,
                      .lower = 1.0 / 3,
                      .upper = kInfinity,
                      .n = 100.0,
                      .status = "not_resolvable"}},
         .arrays = {{"user/density", "", {2, 2}, {1, -kInfinity, kNan, 1.0 * step}},
                    {"user/ritz", "blocks.0", {step / 10}, std::vector<double>(step / 10, 5.0)}},
         .events = {{"odd", "not utf-8: \xff"}}});
  }
  writer.write_verdict({"P-L2", "holds", "", R"({"margin": 0.5})"});
  writer.write_verdict({"P-P1", "refuted", "d = 1", "no json"});
  writer.set_state("finished");
  return RunReader(dir);
}

std::map<std::string, std::string> unzip(const fs::path& file) {
  int code = 0;
  zip_t* archive = zip_open(file.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code);
  REQUIRE(archive != nullptr);
  std::map<std::string, std::string> members;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); ++i) {
    zip_stat_t stat;
    const auto index = static_cast<zip_uint64_t>(i);
    REQUIRE(zip_stat_index(archive, index, 0, &stat) == 0);
    std::string content(stat.size, '\0');
    zip_file_t* member = zip_fopen_index(archive, index, 0);
    REQUIRE(zip_fread(member, content.data(), stat.size) == static_cast<zip_int64_t>(stat.size));
    zip_fclose(member);
    members[stat.name] = content;
  }
  zip_discard(archive);
  return members;
}

struct Npy {
  std::string header;
  std::string data;

  template <typename Number>
  std::vector<Number> as() const {
    std::vector<Number> numbers(data.size() / sizeof(Number));
    std::memcpy(numbers.data(), data.data(), data.size());
    return numbers;
  }
};

/// As numpy/lib/format.py describes version 1.0.
Npy parse_npy(const std::string& file) {
  REQUIRE(file.size() >= 64);
  REQUIRE(file.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
  const auto length = static_cast<std::size_t>(static_cast<unsigned char>(file[8])) +
                      256 * static_cast<std::size_t>(static_cast<unsigned char>(file[9]));
  REQUIRE((10 + length) % 64 == 0);
  REQUIRE(file.size() >= 10 + length);
  const std::string header = file.substr(10, length);
  REQUIRE(header.back() == '\n');
  return {header.substr(0, header.find('}') + 1), file.substr(10 + length)};
}

}  // namespace

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
  for (const char* layer : {"=HYPERLINK(\"x\")", "+1", "-1", "@SUM", "\ta", "a=b"})
    writer.write({.step = 1, .scalars = {{.name = "user/x", .layer = layer, .value = -1}}});
  std::ostringstream out;
  export_csv(RunReader(scratch / "run"), out);
  for (const char* field :
       {"\"'=HYPERLINK(\"\"x\"\")\",-1", ",'+1,-1", ",'-1,-1", ",'@SUM,-1", ",'\ta,-1", ",a=b,-1"})
    CHECK_THAT(out.str(), Contains(field));
}

TEST_CASE("no member of an npz leads out of the folder that it is unpacked in") {
  const TemporaryFolder scratch;
  auto writer = RunWriter::create(scratch / "run", {});
  for (const char* layer : {"x/../../../a", "/./b", "C:\\c", "50%", "x//y"})
    writer.write({.step = 1, .scalars = {{.name = "user/x", .layer = layer, .value = 1}}});
  export_npz(RunReader(scratch / "run"), scratch / "run.npz");
  const auto members = unzip(scratch / "run.npz");
  for (const char* name : {"user/x@x/%2E%2E/%2E%2E/%2E%2E/a",
                           "user/x@/%2E/b",
                           "user/x@C%3A%5Cc",
                           "user/x@50%25",
                           "user/x@x/%2Fy"}) {
    CAPTURE(name);
    CHECK(members.count(std::string(name) + ".value.npy") == 1);
  }
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

TEST_CASE("npz holds a NumPy array for each column of each series") {
  const TemporaryFolder scratch;
  const fs::path file = scratch / "run.npz";
  const RunReader run = awkward_run(scratch / "run");
  export_npz(run, file);
  auto members = unzip(file);
  CHECK(members.size() == 1 + 3 * 7 + 1 + 2 + 3);
  const auto member = [&](const std::string& name) { return parse_npy(members.at(name + ".npy")); };

  const Npy step = member("loss/train.step");
  CHECK(step.header == "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }");
  CHECK(step.as<std::int64_t>() == std::vector<std::int64_t>{10, 20});
  const Npy value = member("loss/train.value");
  CHECK(value.header == "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }");
  CHECK(value.as<double>() == std::vector<double>{1, 2});
  CHECK(std::isnan(member("loss/train.n").as<double>().at(0)));

  const auto kappa = member("kappa/sigma@a, \"b\".value").as<double>();
  CHECK(kappa.at(0) == kInfinity);
  CHECK(std::isnan(kappa.at(1)));
  const Npy status = member("kappa/sigma@a, \"b\".status");
  CHECK(status.header == "{'descr': '|S14', 'fortran_order': False, 'shape': (2,), }");
  CHECK(status.data == "not_resolvablenot_resolvable");

  const Npy attributes = member("features/products.attributes");
  CHECK(attributes.data == R"({"route":"factorisation"}{"route":"factorisation"})");
  CHECK(members.count("loss/train.attributes.npy") == 0);

  const Npy density = member("arrays/user/density.value");
  CHECK(density.header == "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2, 2), }");
  CHECK(density.as<double>().at(1) == -kInfinity);
  CHECK(density.as<double>().at(7) == 20);
  CHECK(member("arrays/user/ritz@blocks.0.step").as<std::int64_t>() ==
        std::vector<std::int64_t>{10, 20});
  CHECK(member("arrays/user/ritz@blocks.0.value.20").as<double>() == std::vector<double>{5, 5});
  CHECK(members.count("arrays/user/ritz@blocks.0.value.npy") == 0);
}

TEST_CASE("the same run makes the same npz, and a failure to write it names the file") {
  const TemporaryFolder scratch;
  const RunReader run = awkward_run(scratch / "run");
  export_npz(run, scratch / "one.npz");
  export_npz(run, scratch / "two.npz");
  const auto bytes = [](const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  CHECK(bytes(scratch / "one.npz") == bytes(scratch / "two.npz"));
  REQUIRE_THROWS_WITH(export_npz(run, scratch / "absent/run.npz"),
                      Contains((scratch / "absent").string()));
}

TEST_CASE("a run without a snapshot exports to files that open") {
  const TemporaryFolder scratch;
  RunWriter::create(scratch / "run", {});
  const RunReader run(scratch / "run");
  std::ostringstream csv;
  export_csv(run, csv);
  CHECK(csv.str() == "step,name,layer,value,lower,upper,n,n_effective,status,attributes\r\n");
  export_npz(run, scratch / "run.npz");
  CHECK(unzip(scratch / "run.npz").contains("kappascope.npy"));
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

TEST_CASE("an array of more dimensions than a NumPy header holds is an error") {
  const TemporaryFolder scratch;
  auto writer = RunWriter::create(scratch / "run", {});
  writer.write({.step = 1, .arrays = {{"user/v", "", std::vector<std::int64_t>(40'000, 1), {1}}}});
  CHECK_THROWS_WITH(export_npz(RunReader(scratch / "run"), scratch / "run.npz"),
                    Contains("40001 dimensions"));
}
