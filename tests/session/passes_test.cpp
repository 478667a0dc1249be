// SPDX-License-Identifier: Apache-2.0
#include "kappascope/session/passes.h"

#include <torch/types.h>

#include "support/catch.h"

using namespace kappascope::session;

namespace {

Pass pass(const std::string& layer, int64_t rows) {
  return {layer, torch::randn({rows, 3}), at::Tensor(), 0.1};
}

}  // namespace

TEST_CASE("the gradients of accumulated passes are scaled by the rows of all of them") {
  Passes passes;
  const auto first = passes.forward(pass("a", 4));
  passes.backward(first, torch::ones({4, 2}));
  const auto second = passes.forward(pass("a", 6));
  passes.backward(second, torch::ones({6, 2}));
  CHECK_FALSE(passes.empty());
  const auto views = passes.take(LossReduction::kMean);
  CHECK(passes.empty());
  REQUIRE(views.size() == 2);
  for (const auto& view : views) {
    CHECK(view.use == 0);
    CHECK(view.dropout == 0.1);
    CHECK(torch::equal(view.gradient, torch::full_like(view.gradient, 10)));
  }
}

TEST_CASE("passes beyond the rows that a step keeps are counted and not kept") {
  Passes passes(/*rows=*/5);
  std::vector<at::Tensor> features;
  for (int i = 0; i < 4; ++i) {
    auto one = pass("a", 3);
    features.push_back(one.features);
    passes.backward(passes.forward(std::move(one)), torch::ones({3, 2}));
    passes.backward(passes.forward(pass("b", 6)), torch::ones({6, 2}));
  }
  const auto views = passes.take(LossReduction::kMean);
  // Two passes of 3 reach 5 rows; the first of 6 does.
  REQUIRE(views.size() == 3);
  int seen = 0;
  for (const auto& view : views) {
    // The scale is that of the whole step.
    const double rows = view.name == "a" ? 12 : 24;
    CHECK(torch::equal(view.gradient, torch::full_like(view.gradient, rows)));
    CHECK(view.rows_of_step == rows);
    if (view.name == "a") CHECK(torch::equal(view.features, features.at(seen++)));
  }
  CHECK(seen == 2);
}

TEST_CASE("a loss that is a sum leaves gradients as they are") {
  Passes passes;
  passes.backward(passes.forward(pass("a", 4)), torch::ones({4, 2}));
  CHECK(torch::equal(passes.take(LossReduction::kSum).at(0).gradient, torch::ones({4, 2})));
}

TEST_CASE("a layer that is used twice in one pass of the model counts its rows once") {
  Passes passes;
  const auto first = passes.forward(pass("a", 4)), second = passes.forward(pass("a", 4));
  passes.backward(second, torch::ones({4, 2}));
  passes.backward(first, torch::ones({4, 2}));
  const auto views = passes.take(LossReduction::kMean);
  REQUIRE(views.size() == 2);
  CHECK(views[0].use == 0);
  CHECK(views[1].use == 1);
  for (const auto& view : views) CHECK(view.gradient[0][0].item<double>() == 4);
}

TEST_CASE("sequences are groups of rows and a backward pass of an earlier step changes nothing") {
  Passes passes;
  Pass without_graph{"a", torch::randn({2, 5, 3}), at::Tensor(), 0};
  without_graph.in_graph = false;
  const auto old = passes.forward(without_graph);
  const auto views = passes.take(LossReduction::kMean);
  CHECK(views.at(0).rows_per_group == 5);
  CHECK(views.at(0).features.sizes() == at::IntArrayRef({10, 3}));
  CHECK_FALSE(views.at(0).gradient.defined());
  const auto next = passes.forward(pass("a", 4));
  CHECK(next != old);
  passes.backward(old, torch::ones({10, 2}));
  CHECK(passes.take(LossReduction::kMean).empty());
}

TEST_CASE("a pass in a graph that no backward pass came by is none of training") {
  Passes passes;
  (void)passes.forward(pass("a", 9));
  passes.backward(passes.forward(pass("a", 4)), torch::ones({4, 2}));
  passes.backward(passes.forward(pass("b", 4)), at::Tensor());
  const auto views = passes.take(LossReduction::kMean);
  REQUIRE(views.size() == 2);
  CHECK(views[0].name == "a");
  CHECK(views[0].use == 0);
  CHECK(views[0].gradient[0][0].item<double>() == 4);
  CHECK(views[1].name == "b");
  CHECK_FALSE(views[1].gradient.defined());
}

TEST_CASE("rows that are masked out do not count and the terms of a loss may be fewer still") {
  Passes passes;
  for (const double terms : {0., 3.}) {
    auto masked = pass("a", 6);
    masked.mask = torch::tensor({true, true, true, true, false, false});
    passes.backward(passes.forward(masked), torch::ones({6, 2}));
    const auto view = passes.take(LossReduction::kMean, terms).at(0);
    CHECK(torch::equal(view.mask, masked.mask));
    CHECK(view.gradient[0][0].item<double>() == (terms > 0 ? terms : 4));
  }
}
