// SPDX-License-Identifier: Apache-2.0
// What is refused in the header of a safetensors file, and how long that takes.
#include <torch/types.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "core/temporary_folder.h"
#include "kappascope/core/error.h"
#include "support/catch.h"
#include "tensor/safetensors/safetensors.h"
#include "tensor/safetensors/safetensors_file.h"

using namespace kappascope;
using testing::put;

TEST_CASE("a damaged header is refused with what is wrong") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& header, const std::string& why, int bytes = 16) {
    CAPTURE(header);
    const auto path =
        put(folder / "bad", header, std::string(static_cast<std::size_t>(bytes), '\0'));
    CHECK_THROWS_WITH(tensor::SafetensorsFile(path), Catch::Contains(why));
  };
  const auto one = [](const std::string& type, const std::string& shape, const std::string& at) {
    return R"({"w":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":)" + at +
           "}}";
  };
  refused("{", "parse error");
  refused("[]", "not a JSON object");
  refused(R"({"w":3})", "tensor 'w'");
  refused(R"({"w":{"dtype":"F32"}})", "shape");
  refused(one("F8", "[4]", "[0,16]"), "type F8 is not known");
  refused(one("F32", "[3]", "[0,16]"), "does not fit its bytes");
  refused(one("F32", "[-4]", "[0,16]"), "negative");
  refused(one("F32", "[4]", "[0,17]"), "cut off");
  refused(one("F32", "[4]", "[16,0]"), "cut off");
  refused(one("F32", "[4]", "[0]"), "two numbers");
  refused(one("F32", "[4294967296,4294967296,4]", "[0,16]"), "beyond all memory");
  const auto two = [&](const std::string& second) {
    return R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],)"
           R"("data_offsets":)" +
           second + "}}";
  };
  refused(two("[4,12]"), "overlap");
  refused(two("[8,16]"), "belong to none", 20);
  refused(two("[12,20]"), "leave a gap at byte 8", 20);
  CHECK_THROWS_WITH(tensor::SafetensorsFile(put(folder / "far", "{}", "", 1'000'000'000'000)),
                    Catch::Contains("says that its header has 1000000000000 bytes"));
  // A file as long as it says, of holes.
  const auto longest = put(folder / "long", "{}", "", 100'000'001);
  std::filesystem::resize_file(longest, 100'000'100);
  CHECK_THROWS_WITH(tensor::SafetensorsFile(longest),
                    Catch::Contains("says that its header has 100000001 bytes"));
  CHECK_THROWS_WITH(tensor::SafetensorsFile(folder / "none"), Catch::Contains("No such file"));
  CHECK_THROWS_WITH(tensor::write_safetensors(folder / "no" / "x", {}),
                    Catch::Contains("cannot write"));
  CHECK_THROWS_WITH(
      tensor::write_safetensors(folder / "x", {{"c", torch::zeros({1}, torch::kComplexFloat)}}),
      Catch::Contains("safetensors has not"));
}

TEST_CASE("what no header has is refused where it stands") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& header, const std::string& why) {
    CHECK_THROWS_WITH(tensor::SafetensorsFile(put(folder / "bad", header, std::string(16, '\0'))),
                      Catch::Contains(why));
  };
  const std::string many(5'000'000, '[');
  refused(many, "not a JSON object");
  refused(R"({"w":)" + many, "a list stands where none may");
  refused(R"({"w":{"shape":)" + many, "a list stands where none may");
  refused(R"({"w":{"other":)" + many, "a list stands where none may");
  refused(R"({"w":{"shape":{)", "an object stands where none may");
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  refused(R"({"w":{"dtype":"F32","data_offsets":[0,4],"shape":[)" + ones + "]}}", "more than 64");
  refused(R"({"w":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,4]}})",
          "beyond all memory");
  refused(R"({"w":{"dtype":"F32","shape":[4.0],"data_offsets":[0,16]}})", "whole numbers");
  refused(R"({"w":{"dtype":"F32","shape":true,"data_offsets":[0,16]}})", "whole numbers");
  refused(R"({"w":{"dtype":7,"shape":[4],"data_offsets":[0,16]}})", "must be a text");
  refused(R"({"__metadata__":{"a":1}})", "must hold texts");
  refused(R"({"w":{"dtype":"F32","dtype":"F32","shape":[4],"data_offsets":[0,16]}})",
          "the name \"dtype\" stands there twice");
}

TEST_CASE("the time of a header grows with its tensors, not with their square") {
  const TemporaryFolder folder;
  const auto seconds = [&](int tensors) {
    std::string header = "{";
    for (int i = 0; i < tensors; ++i)
      header += (i > 0 ? R"(,"t)" : R"("t)") + std::to_string(i) +
                R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" + std::to_string(i) + "," +
                std::to_string(i + 1) + "]}";
    const auto path =
        put(folder / "many", header + "}", std::string(static_cast<std::size_t>(tensors), '\0'));
    double best = 1e9;
    for (int repeat = 0; repeat < 3; ++repeat) {
      const auto begin = std::chrono::steady_clock::now();
      CHECK(tensor::SafetensorsFile(path).entries().size() == static_cast<std::size_t>(tensors));
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      best = std::min(best, took.count());
    }
    return best;
  };
  // 16 times as many: 20 to 25 times as long; 256 times were it their square.
  CHECK(seconds(32'000) < 80 * seconds(2'000));
}
