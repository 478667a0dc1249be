// SPDX-License-Identifier: Apache-2.0
#include "lab/train/gradient_sums.h"

#include <torch/types.h>

#include <vector>

#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/thread_group.h"

using namespace kappascope;

namespace {

/// A product of three matrices; the fourth parameter takes no part.
struct Model {
  std::vector<at::Tensor> weights;
  Model() {
    for (int i = 0; i < 4; ++i) {
      const auto values = torch::arange(9, torch::kDouble).view({3, 3}).sub(4 + i).div(7);
      weights.push_back(values.set_requires_grad(true));
    }
  }
  void pass(double rows) const {
    const auto x = torch::full({2, 3}, rows, torch::kDouble);
    x.matmul(weights[0]).tanh().matmul(weights[1]).tanh().matmul(weights[2]).sum().backward();
  }
};

/// Alone; writes down which gradients were there when a sum began, and how many it is of.
class Witness final : public tensor::Group {
 public:
  explicit Witness(const Model& model) : model_(model) {}
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  void send(const at::Tensor& /*values*/, int /*to*/) override {}
  void receive(at::Tensor& /*values*/, int /*from*/) override {}
  void broadcast(at::Tensor& /*values*/) override {}
  void add_up(at::Tensor& /*values*/) override {}
  std::function<void()> begin_add_up(std::vector<at::Tensor> values) override {
    std::vector<bool> there;
    for (const auto& weight : model_.weights) there.push_back(weight.grad().defined());
    seen.push_back(there);
    sizes.push_back(values.size());
    return [this] { ++waited; };
  }
  std::vector<std::vector<bool>> seen;
  std::vector<std::size_t> sizes;
  int waited = 0;

 private:
  const Model& model_;
};

constexpr std::int64_t kOneMatrix = 9 * 8;

}  // namespace

TEST_CASE("gradients of several processes and passes add up, whatever the buckets") {
  const Model whole;
  for (const double rows : {0.1, 0.2, 0.3, 0.4, 0.5}) whole.pass(rows);
  for (const std::int64_t bytes : {std::int64_t{1}, 2 * kOneMatrix, 100 * kOneMatrix}) {
    CAPTURE(bytes);
    const std::vector<std::vector<double>> parts = {{0.1, 0.2, 0.3}, {0.4, 0.5}};
    // Copies of a tensor share its values: each process has parameters of its own.
    std::vector<Model> own;
    for (int rank = 0; rank < 2; ++rank) own.emplace_back();
    testing::in_threads(2, [&](const auto& group) {
      const auto rank = static_cast<std::size_t>(group->rank());
      const auto passes = static_cast<std::int64_t>(parts[rank].size());
      train::GradientSums sums(own[rank].weights, passes, *group, bytes);
      for (const double rows : parts[rank]) own[rank].pass(rows);
      sums.finish();
    });
    for (std::size_t i = 0; i < 3; ++i) {
      // Five terms of about one, in another order.
      CHECK(torch::allclose(own[0].weights[i].grad(), whole.weights[i].grad(), 1e-14, 1e-14));
      CHECK(torch::equal(own[0].weights[i].grad(), own[1].weights[i].grad()));
    }
    CHECK_FALSE(own[0].weights[3].grad().defined());
  }
}

TEST_CASE("a bucket is sent while the backward pass makes other gradients") {
  const Model model;
  Witness group(model);
  const std::vector<at::Tensor> used(model.weights.begin(), model.weights.end() - 1);
  {
    train::GradientSums sums(used, 2, group, kOneMatrix);
    model.pass(0.1);
    CHECK(group.seen.empty());  // the second pass adds to each
    model.weights[0].mutable_grad().reset();
    model.weights[1].mutable_grad().reset();
    model.pass(0.2);
    CHECK(group.seen == std::vector<std::vector<bool>>{{false, false, true, false},
                                                       {false, true, true, false},
                                                       {true, true, true, false}});
    CHECK(group.waited == 0);
    sums.finish();
    CHECK(group.waited == 3);
  }
  model.pass(0.3);  // nobody listens any more
  CHECK(group.seen.size() == 3);
}

TEST_CASE("a parameter that takes no part holds its bucket back to the end") {
  const Model model;
  Witness group(model);
  train::GradientSums sums(model.weights, 1, group, 2 * kOneMatrix);
  model.pass(0.1);
  CHECK(group.seen.empty());
  sums.finish();
  CHECK(group.sizes == std::vector<std::size_t>{1, 2});
  CHECK(group.waited == 2);
}

TEST_CASE("a gradient that changes after it was sent is an error") {
  const Model model;
  Witness group(model);
  const std::vector<at::Tensor> used(model.weights.begin(), model.weights.end() - 1);
  const train::GradientSums sums(used, 1, group, 1);
  model.pass(0.1);
  CHECK_THROWS_WITH(model.pass(0.2), Catch::Contains("after its sum had begun"));
}
