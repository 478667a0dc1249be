// SPDX-License-Identifier: Apache-2.0
#include "tensor/safetensors/safetensors.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cstring>
#include <iterator>

#include "core/temporary_folder.h"
#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/files.h"
#include "tensor/safetensors/safetensors_file.h"

using namespace kappascope;
using testing::put;
using testing::slurp;
using testing::write_bytes;

TEST_CASE("a file written by hand to the format's letter is read, aligned or not") {
  const TemporaryFolder folder;
  const float numbers[] = {1.5F, -2, 3, 0};
  std::string bytes(sizeof numbers, '\0');
  std::memcpy(bytes.data(), numbers, sizeof numbers);
  for (int spaces = 0; spaces < 8; ++spaces) {
    const auto path = put(folder / "a",
                          R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2,2],)"
                          R"("data_offsets":[0,16]}})" +
                              std::string(static_cast<std::size_t>(spaces), ' '),
                          bytes);
    const tensor::SafetensorsFile file(path);
    REQUIRE(file.entries().size() == 1);
    CHECK(torch::equal(file.mapped("w"), torch::tensor({{1.5F, -2.F}, {3.F, 0.F}})));
  }
}

TEST_CASE("tensors of every type come back bit for bit, and their numbers start at 8") {
  const TemporaryFolder folder;
  torch::manual_seed(1);
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  for (const auto type : {torch::kByte,
                          torch::kFloat,
                          torch::kHalf,
                          torch::kBFloat16,
                          torch::kDouble,
                          torch::kLong,
                          torch::kInt,
                          torch::kShort,
                          torch::kChar,
                          torch::kBool}) {
    tensors.emplace_back(toString(type), (torch::randn({3, 5}) * 3).to(type));
  }
  tensors.emplace_back("scalar", torch::tensor(2.5));
  tensors.emplace_back("empty", torch::empty({0, 4}));
  tensors.emplace_back("turned", torch::randn({3, 4}).t());
  const auto path = folder / "all.safetensors";
  tensor::write_safetensors(path, tensors);
  const tensor::SafetensorsFile file(path);
  CHECK(file.entries().size() == tensors.size());
  for (const auto& [name, tensor] : tensors) {
    CAPTURE(name);
    const auto back = file.mapped(name);
    CHECK(back.scalar_type() == tensor.scalar_type());
    CHECK(torch::equal(back, tensor));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, slurp(path).data(), sizeof length);
  CHECK(length % 8 == 0);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("a tensor read outlives its file, and half precision fills a float parameter exactly") {
  const TemporaryFolder folder;
  const auto path = folder / "h.safetensors";
  const auto half = torch::randn({4}).to(torch::kBFloat16);
  tensor::write_safetensors(path, {{"w", half}});
  at::Tensor kept;
  {
    const tensor::SafetensorsFile file(path);
    kept = file.mapped("w");
    const auto target = torch::zeros({4});
    file.read_into("w", target);
    CHECK(torch::equal(target, half.to(torch::kFloat)));
    CHECK_THROWS_WITH(file.read_into("w", torch::zeros({2, 2})), Catch::Contains("goes into"));
    CHECK_THROWS_WITH(file.mapped("v"), Catch::Contains("no tensor 'v'"));
  }
  CHECK(torch::equal(kept, half));
}

TEST_CASE("a file cut anywhere is refused with its path, and never read beyond its end") {
  const TemporaryFolder folder;
  tensor::write_safetensors(folder / "whole",
                            {{"a", torch::ones({3})}, {"b", torch::ones({2, 2})}});
  const auto whole = slurp(folder / "whole");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write_bytes(folder / "cut", whole.substr(0, length));
    CAPTURE(length);
    CHECK_THROWS_WITH(tensor::SafetensorsFile(folder / "cut"),
                      Catch::Contains("cut is not a whole safetensors file"));
  }
  write_bytes(folder / "long", whole + "x");
  CHECK_THROWS_WITH(tensor::SafetensorsFile(folder / "long"), Catch::Contains("belong to none"));
}

TEST_CASE("a name that stands twice in the header is refused, whichever a reader would take") {
  const TemporaryFolder folder;
  const std::string entry = R"({"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  const auto twice = R"({"w":)" + entry + R"(,"w":)" + entry + "}";
  CHECK_THROWS_WITH(tensor::SafetensorsFile(put(folder / "a", twice, "ab")),
                    Catch::Contains(R"("w" stands there twice)"));
  const auto inside = R"({"w":{"dtype":"U8","shape":[1],"shape":[2],"data_offsets":[0,2]}})";
  CHECK_THROWS_WITH(tensor::SafetensorsFile(put(folder / "a", inside, "ab")),
                    Catch::Contains(R"("shape" stands there twice)"));
}

TEST_CASE("a file that was written here knows whether it is whole, another's does not") {
  const TemporaryFolder folder;
  tensor::write_safetensors(folder / "a", {{"w", torch::ones({3})}}, {{"epoch", "7"}});
  const tensor::SafetensorsFile file(folder / "a");
  CHECK_NOTHROW(file.require_whole());
  CHECK(file.metadata().at("epoch") == "7");
  const auto header = R"({"__metadata__":{"format":"pt","and":"as long as a checksum would be"}})";
  CHECK_THROWS_WITH(tensor::SafetensorsFile(put(folder / "b", header, "")).require_whole(),
                    Catch::Contains("holds no checksum"));
  CHECK_THROWS_WITH(tensor::SafetensorsFile(put(folder / "b", "{}", "")).require_whole(),
                    Catch::Contains("holds no checksum"));
}

TEST_CASE("what is no whole number is none of a shape or of a place") {
  const TemporaryFolder folder;
  for (const auto* entry : {R"("shape":[2.5],"data_offsets":[0,2])",
                            R"("shape":[true,2],"data_offsets":[0,2])",
                            R"("shape":2,"data_offsets":[0,2])",
                            R"("shape":[2],"data_offsets":[0.9,2.1])",
                            R"("shape":[2],"data_offsets":[false,2])",
                            R"("shape":[2],"data_offsets":[-0.0,2])"}) {
    const auto header = std::string(R"({"w":{"dtype":"U8",)") + entry + "}}";
    CAPTURE(header);
    CHECK_THROWS_WITH(tensor::SafetensorsFile(put(folder / "a", header, "ab")),
                      Catch::Contains("must be whole numbers"));
  }
}

TEST_CASE("a header of brackets is refused, however deep they lie") {
  const TemporaryFolder folder;
  constexpr std::size_t kDepth = 200'000;
  const auto header = R"({"w":)" + std::string(kDepth, '[') + std::string(kDepth, ']') + "}";
  CHECK_THROWS_WITH(tensor::SafetensorsFile(put(folder / "a", header, "")),
                    Catch::Contains("tensor 'w'"));
}

TEST_CASE("an empty tensor leaves the checksum of the file as it is") {
  const TemporaryFolder folder;
  tensor::write_safetensors(folder / "a",
                            {{"w", torch::ones({3})}, {"none", torch::empty({0, 4})}});
  CHECK_NOTHROW(tensor::SafetensorsFile(folder / "a").require_whole());
}
