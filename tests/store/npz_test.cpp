// SPDX-License-Identifier: Apache-2.0
// The archive of NumPy arrays that export_npz writes.
#include <zip.h>

#include <cstring>
#include <map>
#include <sstream>

#include "kappascope/core/error.h"
#include "kappascope/store/export.h"
#include "store/fixture.h"
#include "support/catch.h"
#include "support/files.h"

using namespace kappascope;
using namespace kappascope::store;
using namespace kappascope::store::test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

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

TEST_CASE("no member of an npz leads out of the folder that it is unpacked in") {
  const TemporaryFolder scratch;
  auto writer = RunWriter::create(scratch / "run", {});
  for (const char* layer : {"x/../../../a", "/./b", "C:\\c", "50%", "x//y", "a\nb"})
    writer.write({.step = 1, .scalars = {{.name = "user/x", .layer = layer, .value = 1}}});
  export_npz(RunReader(scratch / "run"), scratch / "run.npz");
  const auto members = unzip(scratch / "run.npz");
  for (const char* name : {"user/x@x/%2E%2E/%2E%2E/%2E%2E/a",
                           "user/x@/%2E/b",
                           "user/x@C%3A%5Cc",
                           "user/x@50%25",
                           "user/x@a%0Ab",
                           "user/x@x/%2Fy"}) {
    CAPTURE(name);
    CHECK(members.count(std::string(name) + ".value.npy") == 1);
  }
}

TEST_CASE("no name of a run among several leads out of the folder either") {
  const TemporaryFolder scratch;
  RunWriter::create(scratch / "run", {})
      .write({.step = 1, .scalars = {{.name = "user/x", .layer = "../a", .value = 1}}});
  const RunReader run(scratch / "run");
  export_npz({{"../../b", &run}, {"/c", &run}, {"d@e", &run}}, scratch / "runs.npz");
  const auto members = unzip(scratch / "runs.npz");
  for (const char* name :
       {"runs/%2E%2E/%2E%2E/b/user/x@../a", "runs/%2Fc/user/x@../a", "runs/d%40e/user/x@../a"}) {
    CAPTURE(name);
    CHECK(members.count(std::string(name) + ".value.npy") == 1);
  }
}

TEST_CASE("series whose names and layers read alike are members of an npz of their own") {
  const TemporaryFolder scratch;
  RunWriter::create(scratch / "run", {})
      .write({.step = 1,
              .scalars = {{.name = "user/a@b", .value = 1},
                          {.name = "user/a", .layer = "b", .value = 2},
                          {.name = "user/a@b", .layer = "c", .value = 3},
                          {.name = "user/a", .layer = "b@c", .value = 4},
                          {.name = "user/a%40b", .value = 5},
                          {.name = "user/x", .value = 6}},
              .arrays = {{"user/x", "", {1}, {7}}}});
  // No writer of ours makes such a name; a file from elsewhere may have it.
  make_version2(scratch / "run");
  SQLite::Database((scratch / "run/run.sqlite").string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE scalars SET name = 'arrays/user/x' WHERE name = 'user/x'");
  export_npz(RunReader(scratch / "run"), scratch / "run.npz");
  const auto members = unzip(scratch / "run.npz");
  const std::map<std::string, double> values = {{"user/a%40b", 1},
                                                {"user/a@b", 2},
                                                {"user/a%40b@c", 3},
                                                {"user/a@b@c", 4},
                                                {"user/a%2540b", 5},
                                                {"arrays%2Fuser/x", 6},
                                                {"arrays/user/x", 7}};
  for (const auto& [name, value] : values) {
    CAPTURE(name);
    REQUIRE(members.contains(name + ".value.npy"));
    CHECK(parse_npy(members.at(name + ".value.npy")).as<double>() == std::vector<double>{value});
  }
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
  CHECK(testing::slurp(scratch / "one.npz") == testing::slurp(scratch / "two.npz"));
  REQUIRE_THROWS_WITH(export_npz(run, scratch / "absent/run.npz"),
                      Contains((scratch / "absent").string()));
}

TEST_CASE("an array of more dimensions than a NumPy header holds is an error") {
  const TemporaryFolder scratch;
  auto writer = RunWriter::create(scratch / "run", {});
  writer.write({.step = 1, .arrays = {{"user/v", "", std::vector<std::int64_t>(40'000, 1), {1}}}});
  CHECK_THROWS_WITH(export_npz(RunReader(scratch / "run"), scratch / "run.npz"),
                    Contains("40001 dimensions"));
}

TEST_CASE("a series of which every row is damaged is no member of an npz") {
  const TemporaryFolder scratch;
  static_cast<void>(awkward_run(scratch / "run"));
  SQLite::Database sql((scratch / "run/run.sqlite").string(), SQLite::OPEN_READWRITE);
  sql.exec("UPDATE scalars SET value = 99 WHERE name = 'loss/train'");
  sql.exec("UPDATE arrays SET step = step + 1 WHERE name = 'user/ritz'");
  const RunReader run(scratch / "run");
  export_npz(run, scratch / "run.npz");
  CHECK(run.damaged().size() == 4);
  const auto members = unzip(scratch / "run.npz");
  CHECK_FALSE(members.contains("loss/train.value.npy"));
  CHECK_FALSE(members.contains("arrays/user/ritz@blocks.0.step.npy"));
  CHECK(members.contains("arrays/user/density.value.npy"));
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
