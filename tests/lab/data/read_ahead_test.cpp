// SPDX-License-Identifier: Apache-2.0
#include "lab/data/read_ahead.h"

#include <torch/types.h>

#include <atomic>
#include <thread>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;

TEST_CASE("rows are read once, in another thread, and found in any order and in parts") {
  std::atomic<int> reads = 0;
  std::thread::id reader;
  data::ReadAhead ahead([&](const at::Tensor& indices) {
    ++reads;
    reader = std::this_thread::get_id();
    return indices * 10;
  });
  CHECK_FALSE(ahead.find(torch::tensor({4})));
  ahead.begin(torch::tensor({4, 2, 9}));
  CHECK(torch::equal(*ahead.find(torch::tensor({4, 2, 9})), torch::tensor({40, 20, 90})));
  CHECK(torch::equal(*ahead.find(torch::tensor({9, 4})), torch::tensor({90, 40})));
  CHECK_FALSE(ahead.find(torch::tensor({4, 5})));
  CHECK(reads == 1);
  CHECK(reader != std::this_thread::get_id());
}

TEST_CASE("the set in use is held while the next is read, and no more") {
  data::ReadAhead ahead([](const at::Tensor& indices) { return indices; });
  ahead.begin(torch::tensor({1}));
  ahead.begin(torch::tensor({2}));
  CHECK(ahead.find(torch::tensor({1})));
  CHECK(ahead.find(torch::tensor({2})));
  ahead.begin(torch::tensor({3}));
  CHECK_FALSE(ahead.find(torch::tensor({1})));
  CHECK(ahead.find(torch::tensor({2})));
  CHECK(ahead.find(torch::tensor({3})));
}

TEST_CASE("what ends the reading is told to whoever asks for the rows, each time") {
  data::ReadAhead ahead([](const at::Tensor&) -> at::Tensor { throw Error("x.png is damaged"); });
  ahead.begin(torch::tensor({1}));
  CHECK_THROWS_WITH(ahead.find(torch::tensor({1})), "x.png is damaged");
  CHECK_THROWS_WITH(ahead.find(torch::tensor({1})), "x.png is damaged");
}
