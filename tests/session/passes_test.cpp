// SPDX-License-Identifier: Apache-2.0
#include "session/passes.h"

#include <torch/types.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <vector>

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
  Passes passes(/*rows=*/4);
  std::vector<at::Tensor> features;
  for (int i = 0; i < 4; ++i) {
    auto one = pass("a", 3);
    features.push_back(one.features);
    passes.backward(passes.forward(std::move(one)), torch::ones({3, 2}));
    passes.backward(passes.forward(pass("b", 6)), torch::ones({6, 2}));
  }
  const auto views = passes.take(LossReduction::kMean);
  // Two passes of 3 reach 4 rows; the first of 6 does.
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

TEST_CASE("losses of one graph add up to one gradient, and change none of the caller's") {
  Passes passes;
  const auto number = passes.forward(pass("a", 4));
  const auto first = torch::ones({4, 2});
  passes.backward(number, first);
  passes.backward(number, torch::full({4, 2}, 2.0));
  CHECK(torch::equal(passes.take(LossReduction::kSum).at(0).gradient, torch::full({4, 2}, 3.0)));
  CHECK(torch::equal(first, torch::ones({4, 2})));
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

TEST_CASE("of a layer that is used twice the use that is left is the first") {
  Passes passes;
  for (const std::int64_t rows : {4, 6}) {
    const auto first = passes.forward(pass("a", rows)), second = passes.forward(pass("a", rows));
    passes.backward(second, torch::ones({rows, 2}));
    if (rows == 4) passes.backward(first, torch::ones({rows, 2}));
  }
  const auto views = passes.take(LossReduction::kMean);
  REQUIRE(views.size() == 3);
  CHECK(views[1].use == 1);
  CHECK(views[2].use == 0);
  for (const auto& view : views) CHECK(view.rows_of_step == 10);
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

TEST_CASE("what a layer's passes are told does not depend on the other layers") {
  // Drawn steps: layers that are used again within a pass, passes of accumulation, rows beyond the
  // limit, passes that never come back.
  std::mt19937 random(11);
  const auto below = [&](int n) { return std::uniform_int_distribution<>(0, n - 1)(random); };
  for (int draw = 0; draw < 200; ++draw) {
    const int layers = 2 + below(6), events = 40;
    const int64_t limit = below(3) == 0 ? 0 : 5 + below(20);
    CAPTURE(draw, layers, limit);
    Passes together(limit);
    std::vector<Passes> alone(static_cast<std::size_t>(layers), Passes(limit));
    struct Open {
      int layer;
      int64_t together, alone, rows;
    };
    std::vector<Open> open;
    for (int event = 0; event < events; ++event) {
      if (below(2) == 0 || open.empty()) {
        const int layer = below(layers);
        const int64_t rows = 1 + below(4);
        const auto features = torch::full({rows, 3}, event, torch::kFloat);
        const Pass pass{std::to_string(layer), features, at::Tensor(), 0.1};
        open.push_back({layer,
                        together.forward(pass),
                        alone[static_cast<std::size_t>(layer)].forward(pass),
                        rows});
      } else {
        const auto one = open.begin() + below(static_cast<int>(open.size()));
        const auto gradient = torch::full({one->rows, 2}, event, torch::kFloat);
        together.backward(one->together, gradient);
        alone[static_cast<std::size_t>(one->layer)].backward(one->alone, gradient);
        open.erase(one);
      }
    }
    std::map<std::string, std::vector<LayerView>> got;
    for (auto& view : together.take(LossReduction::kMean)) got[view.name].push_back(view);
    for (int layer = 0; layer < layers; ++layer) {
      const auto want = alone[static_cast<std::size_t>(layer)].take(LossReduction::kMean);
      const auto& mine = got[std::to_string(layer)];
      REQUIRE(mine.size() == want.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        CHECK(torch::equal(mine[i].features, want[i].features));
        CHECK(mine[i].use == want[i].use);
        CHECK(mine[i].rows_of_step == want[i].rows_of_step);
        REQUIRE(mine[i].gradient.defined() == want[i].gradient.defined());
        if (want[i].gradient.defined()) CHECK(torch::equal(mine[i].gradient, want[i].gradient));
      }
    }
  }
}

TEST_CASE("a pass takes as long among thousands of layers as among hundreds") {
  // Seconds a pass in the fourth micro-batch; the least of five, as the machine has other work.
  const auto seconds = [](int layers) {
    std::vector<std::string> names;
    for (int i = 0; i < layers; ++i) names.push_back("experts." + std::to_string(i));
    const auto features = torch::ones({1, 2});
    double least = 1e9;
    for (int round = 0; round < 5; ++round) {
      Passes passes;
      for (int part = 0; part < 4; ++part) {
        const auto begin = std::chrono::steady_clock::now();
        std::vector<int64_t> numbers;
        for (const auto& name : names)
          numbers.push_back(passes.forward({name, features, at::Tensor(), 0.1}));
        for (const auto number : numbers) passes.backward(number, features);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        if (part == 3) least = std::min(least, took.count() / layers);
      }
    }
    return least;
  };
  // A search of all passes would take 32 times as long; memory that is farther away, twice.
  CHECK(seconds(8000) < 8 * seconds(250));
}

TEST_CASE("a pass whose gradients were thrown away counts for nothing, and makes room") {
  Passes passes(/*rows=*/4);
  const auto thrown = passes.forward(pass("a", 4));
  passes.backward(thrown, torch::ones({4, 2}));
  passes.discard_gradients();
  const auto taken = pass("a", 5);
  const auto first = passes.forward(taken), again = passes.forward(pass("a", 5));
  passes.backward(first, torch::ones({5, 2}));
  passes.backward(again, torch::ones({5, 2}));
  auto views = passes.take(LossReduction::kMean);
  REQUIRE(views.size() == 2);
  CHECK(views[0].use == 0);
  CHECK(views[1].use == 1);
  CHECK(torch::equal(views[0].features, taken.features));
  CHECK(views[0].rows_of_step == 5);
  CHECK(torch::equal(views[0].gradient, torch::full({5, 2}, 5.0)));
  // zero_grad() between a forward pass and its backward pass, and two losses of one graph.
  const auto before = passes.forward(pass("a", 2));
  passes.backward(before, torch::ones({2, 2}));
  const auto after = passes.forward(pass("b", 3));
  passes.discard_gradients();
  passes.backward(after, torch::ones({3, 2}));
  passes.backward(before, torch::full({2, 2}, 2.0));
  views = passes.take(LossReduction::kSum);
  REQUIRE(views.size() == 2);
  CHECK(torch::equal(views[0].gradient, torch::full({2, 2}, 2.0)));
  CHECK(torch::equal(views[1].gradient, torch::ones({3, 2})));
}

TEST_CASE("attention is kept of the first passes of a step that a backward pass came by") {
  Passes passes;
  const auto logits = [](double value) {
    return kappascope::tensor::Attention{.logits = torch::full({1, 2, 3, 3}, value)};
  };
  CHECK(passes.empty());
  const auto first = passes.attend("a", logits(1), true),
             second = passes.attend("a", logits(2), true);
  CHECK(passes.attend("a", logits(3), true) == -1);
  const auto other = passes.attend("b", logits(4), false);
  CHECK(other == second + 1);
  CHECK_FALSE(passes.empty());
  passes.attended(second);
  auto views = passes.attentions();
  REQUIRE(views.size() == 2);  // the first was no pass of training
  CHECK(views[0].name == "a");
  CHECK(views[0].input.logits.max().item<double>() == 2);
  CHECK(views[1].name == "b");
  CHECK(passes.take(LossReduction::kMean).empty());
  CHECK(passes.attentions().empty());
  passes.attended(first);  // of an earlier step
  const auto next = passes.attend("a", logits(5), true);
  CHECK(next == other + 1);
  passes.attended(next);
  CHECK(passes.attentions().size() == 1);
  CHECK_THROWS(passes.attend("c", {}, true));
  CHECK(passes.attentions().size() == 1);
}

TEST_CASE("what enters the gates is kept of some rows, beside its pass") {
  Passes passes(8);
  const auto g = torch::randn({2, 4, 3});
  const auto pass = [](const char* layer, const at::Tensor& mask, const at::Tensor& gates) {
    Pass of;
    of.layer = layer;
    of.features = torch::ones({2, 4, 3});
    of.mask = mask;
    of.in_graph = false;
    of.gate_inputs = gates;
    return of;
  };
  const auto mask = torch::tensor({{true, true, true, false}, {true, false, true, true}});
  passes.forward(pass("a", mask, g));
  passes.forward(pass("b", {}, {}));
  const auto views = passes.take(LossReduction::kMean);
  REQUIRE(views.size() == 2);
  CHECK(views[0].gate_inputs.equal(g));
  CHECK(views[0].gate_mask.equal(mask));
  CHECK_FALSE(views[1].gate_inputs.defined());
}

TEST_CASE("routers are kept of the first passes of a step that a backward pass came by") {
  Passes passes;
  const auto weight = torch::eye(3);
  const auto rows = [&](double value) {
    return kappascope::tensor::RouterPass{
        .rows = torch::full({4, 3}, value), .weight = weight, .chosen = 1, .sequences = 2};
  };
  const auto first = passes.route("a", rows(1), true), second = passes.route("a", rows(2), true);
  CHECK(passes.route("a", rows(3), true) == -1);
  CHECK(passes.route("b", rows(4), false) == second + 1);
  CHECK_FALSE(passes.empty());
  passes.routed(second);
  auto views = passes.routers();
  REQUIRE(views.size() == 2);  // the first was no pass of training
  CHECK(views[0].name == "a");
  CHECK(views[0].input.logits.sizes() == at::IntArrayRef({2, 2, 3}));
  CHECK(views[0].input.logits.max().item<double>() == 2);
  CHECK(views[0].input.chosen == 1);
  CHECK(views[1].name == "b");
  CHECK(passes.take(LossReduction::kMean).empty());
  CHECK(passes.empty());
  CHECK(passes.routers().empty());
  passes.routed(first);  // of an earlier step
  CHECK(passes.routers().empty());
  CHECK_THROWS(passes.route("c", {}, true));
  CHECK(passes.empty());
}

TEST_CASE("passes whose gradients were thrown away make room for others of attention and routers") {
  Passes passes;
  const auto route = [&](double value) {
    return passes.route("a", {.rows = torch::full({2, 3}, value), .weight = torch::eye(3)}, true);
  };
  const auto attend = [&](double value) {
    return passes.attend("a", {.logits = torch::full({1, 2, 3, 3}, value)}, true);
  };
  for (const double value : {1, 2}) {
    passes.routed(route(value));
    passes.attended(attend(value));
  }
  CHECK(route(3) == -1);
  passes.discard_gradients();
  CHECK(passes.routers().empty());
  CHECK(passes.attentions().empty());
  passes.routed(route(4));
  passes.attended(attend(5));
  REQUIRE(passes.routers().size() == 1);
  CHECK(passes.routers()[0].input.logits.max().item<double>() == 4);
  REQUIRE(passes.attentions().size() == 1);
  CHECK(passes.attentions()[0].input.logits.max().item<double>() == 5);
}
