// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/group.h"

#include <limits>
#include <string>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/thread_group.h"
#include "tensor/state_bytes.h"

using namespace kappascope;

TEST_CASE("bytes arrive as they were sent, empty ones too") {
  std::vector<std::string> received;
  const std::string sent("a\0b\xff", 4);
  testing::in_threads(2, [&](const auto& group) {
    if (!group->leads()) {
      group->send_bytes(sent, 0);
      group->send_bytes("", 0);
      return;
    }
    received.push_back(group->receive_bytes(1));
    received.push_back(group->receive_bytes(1));
  });
  CHECK(received == std::vector<std::string>{sent, ""});
}

TEST_CASE("process 0 tells all, and a sum is the same everywhere") {
  std::vector<std::string> told(3);
  std::vector<at::Tensor> sums(3);
  testing::in_threads(3, [&](const auto& group) {
    const auto rank = static_cast<std::size_t>(group->rank());
    told[rank] = group->broadcast_bytes(group->leads() ? "all" : "mine");
    sums[rank] = torch::full({2}, group->rank() + 1, torch::kDouble);
    group->add_up(sums[rank]);
  });
  CHECK(told == std::vector<std::string>(3, "all"));
  for (const auto& sum : sums) CHECK(torch::equal(sum, torch::full({2}, 6, torch::kDouble)));
}

TEST_CASE("a process that is lost ends the calls of the others") {
  CHECK_THROWS_AS(testing::in_threads(2,
                                      [](const auto& group) {
                                        if (group->leads()) throw Error("gone");
                                        static_cast<void>(group->receive_bytes(0));
                                      }),
                  Error);
}

TEST_CASE("a state goes through bytes") {
  tensor::State inner;
  inner.set("rows", torch::arange(6, torch::kDouble).view({2, 3}).t());
  inner.set("mask", torch::tensor({true, false}));
  tensor::State state;
  state.set("count", std::int64_t{1} << 60);
  state.set("number", 0.1);
  state.set("none", std::numeric_limits<double>::quiet_NaN());
  state.set("text", std::string("two\nlines"));
  state.set("inner", inner);
  const auto read = tensor::from_bytes(tensor::to_bytes(state));
  CHECK(read.texts() == state.texts());
  CHECK(read.integer("count") == std::int64_t{1} << 60);
  CHECK(read.number("number") == 0.1);
  REQUIRE(read.tensors().size() == 2);
  for (const auto& [name, tensor] : state.tensors()) {
    CHECK(read.tensors().at(name).dtype() == tensor.dtype());
    CHECK(torch::equal(read.tensors().at(name), tensor));
  }
  CHECK(tensor::from_bytes(tensor::to_bytes({})).texts().empty());
}

TEST_CASE("a process group that nobody registered is named") {
  CHECK_THROWS_WITH(tensor::process_group("nobody's"), Catch::Contains("nobody's"));
}
