// SPDX-License-Identifier: Apache-2.0
#include "lab/train/optimizer.h"

#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>
#include <torch/serialize.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "lab/nn/asger.h"
#include "lab/nn/transformers/language_models.h"
#include "lab/train/preconditioner.h"
#include "support/catch.h"

using namespace kappascope::train;
namespace nn = kappascope::nn;

namespace {

/// Two tensors with drawn gradients, the same for every walker, and one that the loss does not
/// reach.
struct Walker {
  Walker() {
    torch::manual_seed(3);
    parameters = {
        torch::randn({7, 5}, torch::kDouble), torch::randn({40}, torch::kDouble), torch::ones({2})};
  }
  void walk(torch::optim::Optimizer& optimizer, int steps) {
    for (int i = 0; i < steps; ++i) {
      torch::manual_seed(100 + taken++);
      for (std::size_t k = 0; k < 2; ++k)
        parameters[k].mutable_grad() = torch::randn_like(parameters[k]);
      optimizer.step();
    }
  }
  std::vector<at::Tensor> parameters;
  int taken = 0;
};

double largest_difference(const Walker& a, const Walker& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    const auto difference = (a.parameters[i] - b.parameters[i]).abs().max();
    largest = std::max(largest, difference.item<double>());
  }
  return largest;
}

/// What two walks may differ by: a step rounds a weight (below 8) once and its update (below 1)
/// about a dozen times, each time by half of 2.2e-16 at most.
double rounding(int steps) {
  return (8 + 12) * 1.2e-16 * steps;
}

std::unique_ptr<torch::optim::Optimizer> reference(const TrainConfig& config,
                                                   const std::vector<at::Tensor>& parameters) {
  const std::tuple<double, double> betas{config.beta1, config.beta2};
  if (config.optimizer == "adam") {
    return std::make_unique<torch::optim::Adam>(parameters,
                                                torch::optim::AdamOptions(config.learning_rate)
                                                    .betas(betas)
                                                    .weight_decay(config.weight_decay));
  }
  return std::make_unique<torch::optim::AdamW>(parameters,
                                               torch::optim::AdamWOptions(config.learning_rate)
                                                   .betas(betas)
                                                   .weight_decay(config.weight_decay));
}

TrainConfig config_of(const std::string& optimizer) {
  TrainConfig config;
  config.optimizer = optimizer;
  config.learning_rate = 0.05;
  config.weight_decay = 0.1;
  return config;
}

}  // namespace

TEST_CASE("the fused steps are those of LibTorch's Adam and AdamW") {
  for (const auto* name : {"adam", "adamw"}) {
    const auto config = config_of(name);
    Walker ours, theirs;
    const auto fused = make_optimizer(config, ours.parameters);
    const auto plain = reference(config, theirs.parameters);
    for (int step = 0; step < 30; ++step) {
      ours.walk(*fused, 1);
      theirs.walk(*plain, 1);
      INFO(name << ", step " << step);
      CHECK(largest_difference(ours, theirs) < rounding(step + 1));
    }
    CHECK((ours.parameters[2] == 1).all().item<bool>());
  }
}

namespace {

std::unique_ptr<torch::optim::Optimizer> of_vector(const TrainConfig& config,
                                                   const std::vector<at::Tensor>& parameters) {
  return make_optimizer(config, parameters);
}

}  // namespace

TEST_CASE("a checkpoint of LibTorch's Adam is read by the fused one, and the other way") {
  for (const auto* name : {"adam", "adamw"}) {
    const auto config = config_of(name);
    const auto handed_over = [&](const auto& first, const auto& second) {
      Walker walker;
      const auto before = first(config, walker.parameters);
      walker.walk(*before, 5);
      std::stringstream kept;
      torch::save(*before, kept);
      const auto after = second(config, walker.parameters);
      torch::load(*after, kept);
      walker.walk(*after, 5);
      return walker;
    };
    const auto whole = handed_over(reference, reference);
    CHECK(largest_difference(whole, handed_over(reference, of_vector)) < rounding(10));
    CHECK(largest_difference(whole, handed_over(of_vector, reference)) < rounding(10));
  }
}

TEST_CASE("adam and adamw decay weights differently") {
  Walker coupled, decoupled;
  coupled.walk(*make_optimizer(config_of("adam"), coupled.parameters), 5);
  decoupled.walk(*make_optimizer(config_of("adamw"), decoupled.parameters), 5);
  CHECK(largest_difference(coupled, decoupled) > 1e-3);
}

namespace {

/// Two parameters, of which one has two names.
struct Pair : torch::nn::Module {
  Pair() {
    torch::manual_seed(4);
    weight = register_parameter("weight", torch::randn({3, 2}));
    bias = register_parameter("bias", torch::randn({3}));
    register_parameter("tied", weight);
  }
  void walk(torch::optim::Optimizer& optimizer, int steps) const {
    for (int i = 0; i < steps; ++i) {
      optimizer.zero_grad();
      (weight.pow(4).sum() + bias.square().sum()).backward();
      optimizer.step();
    }
  }
  at::Tensor weight, bias;
};

}  // namespace

TEST_CASE("an optimiser goes on from its saved state to the last bit") {
  for (const auto* name : {"adam", "adamw", "sgd"}) {
    CAPTURE(name);
    auto config = config_of(name);
    config.momentum = 0.9;
    const Pair whole;
    const auto without_a_break = make_optimizer(config, {whole.weight, whole.bias});
    whole.walk(*without_a_break, 5);
    const Pair parts;
    const auto first = make_optimizer(config, {parts.weight, parts.bias});
    parts.walk(*first, 3);
    const auto state = optimizer_state(*first, parts);
    CHECK_FALSE(state.has("tied"));
    const auto second = make_optimizer(config, {parts.weight, parts.bias});
    load_optimizer(state, *second, parts);
    parts.walk(*second, 2);
    CHECK(torch::equal(parts.weight, whole.weight));
    CHECK(torch::equal(parts.bias, whole.bias));
    // And not without it.
    const Pair fresh;
    fresh.walk(*make_optimizer(config, {fresh.weight, fresh.bias}), 3);
    fresh.walk(*make_optimizer(config, {fresh.weight, fresh.bias}), 2);
    CHECK_FALSE(torch::equal(fresh.weight, whole.weight));
  }
}

TEST_CASE("a state of another kind or shape is refused by name") {
  const Pair pair;
  const auto adam = make_optimizer(config_of("adam"), {pair.weight, pair.bias});
  pair.walk(*adam, 1);
  auto state = optimizer_state(*adam, pair);
  state.set("weight/exp_avg_sq", torch::zeros({2, 3}));
  CHECK_THROWS_WITH(load_optimizer(state, *adam, pair), Catch::Contains("'exp_avg_sq'"));
  const auto sgd = make_optimizer(config_of("sgd"), {pair.weight, pair.bias});
  CHECK_THROWS_WITH(load_optimizer(state, *sgd, pair), Catch::Contains("'momentum'"));
}

TEST_CASE("the preconditioner is what makes Adam's mean gradient its step") {
  for (const char* kind : {"adam", "adamw"}) {
    Walker walker;
    TrainConfig config;
    config.optimizer = kind;
    config.learning_rate = 0.02;
    const auto optimizer = make_optimizer(config, {walker.parameters[0], walker.parameters[1]});
    const kappascope::curvature::NamedParameters parameters = {{"a", walker.parameters[0]},
                                                               {"b", walker.parameters[1]}};
    CHECK(!preconditioner(*optimizer, parameters));  // before the first step
    walker.walk(*optimizer, 3);
    const auto before = torch::cat({walker.parameters[0].flatten(), walker.parameters[1]}).clone();
    walker.walk(*optimizer, 1);
    const auto after = torch::cat({walker.parameters[0].flatten(), walker.parameters[1]});
    const auto seen = preconditioner(*optimizer, parameters);
    REQUIRE(seen);
    CHECK(seen->limit == Approx(3.8 / (0.1 * 0.02)));
    const auto mean = [&](std::size_t k) {
      return static_cast<const torch::optim::AdamParamState&>(
                 *optimizer->state().at(walker.parameters[k].unsafeGetTensorImpl()))
          .exp_avg()
          .flatten();
    };
    if (std::string(kind) == "adamw") continue;  // its state is of another type
    const auto step = -0.02 * seen->scale.square() * torch::cat({mean(0), mean(1)});
    CHECK((after - before - step).abs().max().item<double>() <= rounding(1));
  }
}

TEST_CASE("the limit of momentum is known, of what is no such optimiser it is not") {
  const Walker walker;
  TrainConfig config;
  config.optimizer = "sgd";
  config.learning_rate = 0.1;
  config.momentum = 0.9;
  const auto optimizer = make_optimizer(config, walker.parameters);
  const kappascope::curvature::NamedParameters parameters = {{"a", walker.parameters[0]}};
  const auto seen = preconditioner(*optimizer, parameters);
  REQUIRE(seen);
  CHECK(!seen->scale.defined());
  CHECK(seen->limit == Approx(38));
  CHECK(!preconditioner(*optimizer, {{"other", torch::ones({2})}}));
  torch::optim::SGD nesterov(walker.parameters,
                             torch::optim::SGDOptions(0.1).momentum(0.9).nesterov(true));
  CHECK(!preconditioner(nesterov, parameters));
}

TEST_CASE("where matrices decay, norms, biases, embeddings and scalars do not") {
  nn::CausalLm lm(nn::with_feed_forward(
      nn::with_biases(
          nn::llama({.vocabulary = 9, .layers = 1, .width = 4, .heads = 2, .hidden = 6}),
          nn::BiasPlacement::kNone,
          /*norms=*/true),
      nn::AsgerOptions(4, 6).learn_alpha(true)));
  for (const auto* name : {"adamw", "sgd"}) {
    auto config = config_of(name);
    const auto moved = [&](const char* decay_of) {
      config.decay_of = decay_of;
      const auto optimizer = make_optimizer(config, *lm);
      std::set<std::string> names;
      std::map<std::string, at::Tensor> before;
      const torch::NoGradGuard no_grad;
      for (auto& item : lm->named_parameters()) {
        item.value().fill_(1);
        item.value().mutable_grad() = torch::zeros_like(item.value());
        before[item.key()] = item.value().clone();
      }
      optimizer->step();
      for (const auto& item : lm->named_parameters()) {
        const auto ratio = (item.value() / before[item.key()]).flatten();
        if ((ratio == 1).all().item<bool>()) continue;
        CHECK(torch::allclose(ratio, torch::full_like(ratio, 1 - 0.05 * 0.1)));
        names.insert(item.key());
      }
      return names;
    };
    CHECK(moved("all").size() == lm->parameters().size());
    std::set<std::string> matrices = {"lm_head.weight"};
    for (const auto* part : {"self_attn.q_proj",
                             "self_attn.k_proj",
                             "self_attn.v_proj",
                             "self_attn.o_proj",
                             "mlp.gate_proj",
                             "mlp.up_proj",
                             "mlp.spatial_gate_proj",
                             "mlp.spatial_up_proj",
                             "mlp.down_proj"})
      matrices.insert(std::string("model.layers.0.") + part + ".weight");
    CHECK(moved("matrices") == matrices);
  }
}

TEST_CASE("the preconditioner is known across groups that decay differently") {
  nn::CausalLm lm(nn::llama({.vocabulary = 9, .layers = 1, .width = 4, .heads = 2, .hidden = 6}));
  auto config = config_of("adamw");
  config.decay_of = "matrices";
  const auto optimizer = make_optimizer(config, *lm);
  REQUIRE(optimizer->param_groups().size() == 2);
  lm->forward(torch::randint(9, {2, 5}, torch::kLong)).square().mean().backward();
  optimizer->step();
  kappascope::curvature::NamedParameters parameters;
  for (const auto& item : lm->named_parameters()) parameters.emplace_back(item.key(), item.value());
  const auto seen = preconditioner(*optimizer, parameters);
  REQUIRE(seen);
  CHECK(seen->limit == Approx(3.8 / (0.1 * 0.05)));
}
